SELECT value FROM service_measured WHERE figure = ?1 ORDER BY receipt
