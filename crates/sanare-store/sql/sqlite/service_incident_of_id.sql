SELECT value FROM service_incidents WHERE id = ?1
