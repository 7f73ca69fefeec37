DELETE FROM spent WHERE bucket = ?1 AND number NOT IN (
    SELECT number FROM spent WHERE bucket = ?1 ORDER BY number DESC LIMIT ?2
)
