SELECT value FROM service_receipts WHERE incident = ?1 ORDER BY number
