SELECT key, value FROM service_states WHERE key >= ?1 ORDER BY key
