SELECT shape FROM shapes WHERE function = ?1 ORDER BY number DESC
