SELECT value FROM service_incidents WHERE closed = 0 ORDER BY number LIMIT ?1
