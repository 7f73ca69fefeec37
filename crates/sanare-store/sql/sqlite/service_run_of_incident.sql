SELECT value FROM service_runs WHERE incident = ?1
