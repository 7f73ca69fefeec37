SELECT incident FROM service_runs WHERE target = ?1
