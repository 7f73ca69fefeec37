DELETE FROM shapes WHERE function = ?1 AND shape = ?2
