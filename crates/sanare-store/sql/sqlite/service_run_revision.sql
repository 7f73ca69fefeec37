SELECT revision FROM service_runs WHERE incident = ?1
