SELECT value FROM service_incidents WHERE fingerprint = ?1 ORDER BY number DESC LIMIT 1
