SELECT id FROM service_incidents WHERE json_extract(value, '$.application') = ?1 AND closed = 1 ORDER BY number LIMIT ?2
