DELETE FROM service_measured WHERE receipt IN (SELECT id FROM service_receipts WHERE json_extract(value, '$.application') = ?1)
