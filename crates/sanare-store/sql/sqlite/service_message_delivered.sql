UPDATE service_outbox SET delivered = 1 WHERE key = ?1
