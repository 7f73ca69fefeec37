DELETE FROM calls WHERE function = ?1 AND (
    at < ?3 OR number NOT IN (SELECT number FROM calls WHERE function = ?1 ORDER BY number DESC LIMIT ?2)
)
