SELECT id FROM service_receipts WHERE target = ?1 AND state IN ('started', 'unknown')
