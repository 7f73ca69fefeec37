DELETE FROM shapes WHERE function = ?1
