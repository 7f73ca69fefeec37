SELECT key, kind, incident, at, body FROM service_outbox WHERE delivered = 0 ORDER BY number LIMIT ?1
