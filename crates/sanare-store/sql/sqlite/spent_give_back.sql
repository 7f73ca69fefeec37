DELETE FROM spent WHERE number IN (
    SELECT number FROM spent WHERE bucket = ?1 AND at >= ?2 ORDER BY number LIMIT ?3
)
