SELECT value FROM service_receipts WHERE state IN ('intended', 'started', 'unknown') ORDER BY number
