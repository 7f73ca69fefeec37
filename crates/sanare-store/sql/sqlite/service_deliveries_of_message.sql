SELECT value FROM service_deliveries WHERE message = ?1 ORDER BY route
