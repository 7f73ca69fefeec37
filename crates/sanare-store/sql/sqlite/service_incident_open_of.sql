SELECT id FROM service_incidents WHERE fingerprint = ?1 AND closed = 0 AND id <> ?2
