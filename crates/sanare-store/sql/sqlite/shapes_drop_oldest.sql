DELETE FROM shapes WHERE function = ?1 AND number NOT IN (
    SELECT number FROM (
        SELECT number,
            row_number() OVER newest AS place,
            sum(length(CAST(shape AS BLOB))) OVER newest AS bytes
        FROM shapes WHERE function = ?1
        WINDOW newest AS (ORDER BY number DESC)
    )
    WHERE place <= ?2 AND bytes <= ?3
)
