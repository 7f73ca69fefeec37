SELECT value FROM service_receipts WHERE id = ?1
