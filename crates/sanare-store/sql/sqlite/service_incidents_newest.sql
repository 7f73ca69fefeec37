SELECT value FROM service_incidents ORDER BY number DESC LIMIT ?1
