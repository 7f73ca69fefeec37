SELECT at FROM spent WHERE bucket = ?1 ORDER BY number DESC LIMIT 1
