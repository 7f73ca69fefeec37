SELECT id FROM service_incidents WHERE closed = 0 AND json_extract(value, '$.application') = ?1 LIMIT 1
