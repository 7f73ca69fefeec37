SELECT
    count(*) FILTER (WHERE incident = ?1),
    coalesce(sum(tokens) FILTER (WHERE incident = ?1), 0),
    count(*) FILTER (WHERE at > ?2),
    coalesce(sum(tokens) FILTER (WHERE at > ?3), 0),
    coalesce(sum(money) FILTER (WHERE at > ?3), 0)
FROM model_calls
