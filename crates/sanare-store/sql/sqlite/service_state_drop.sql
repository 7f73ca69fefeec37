DELETE FROM service_states WHERE key = ?1
