SELECT id FROM service_incidents ORDER BY number DESC
