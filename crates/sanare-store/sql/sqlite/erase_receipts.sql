DELETE FROM service_receipts WHERE json_extract(value, '$.application') = ?1
