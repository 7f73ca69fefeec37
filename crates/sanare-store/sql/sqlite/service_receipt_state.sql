SELECT state FROM service_receipts WHERE id = ?1
