SELECT id FROM service_incidents
WHERE closed = 1 AND coalesce(json_extract(value, '$.closed'), json_extract(value, '$.cleared'), json_extract(value, '$.updated')) < ?1
    AND id NOT IN (SELECT incident FROM service_receipts WHERE state IN ('intended', 'started', 'unknown'))
    AND id NOT IN (SELECT json_extract(value, '$.binding.incident') FROM service_approvals WHERE state IN ('waiting', 'granted'))
ORDER BY number LIMIT ?2
