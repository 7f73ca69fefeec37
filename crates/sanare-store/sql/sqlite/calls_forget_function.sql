DELETE FROM calls WHERE function = ?1
