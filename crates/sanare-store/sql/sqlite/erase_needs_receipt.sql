SELECT id FROM service_receipts WHERE state IN ('intended', 'started', 'unknown') AND json_extract(value, '$.application') = ?1 LIMIT 1
