DELETE FROM service_observations WHERE number IN (
    SELECT number FROM service_observations
    WHERE number <= ?1
        AND (number <= ?2 OR json_extract(value, '$.value.deployment') IS NULL)
        AND id NOT IN (
            SELECT json_extract(evidence.value, '$.observation')
            FROM service_incidents AS incidents, json_each(incidents.value, '$.evidence') AS evidence
            WHERE incidents.closed = 0
        )
    ORDER BY number LIMIT ?3
)
