DELETE FROM calls WHERE function = ?1 AND mark = ?2
