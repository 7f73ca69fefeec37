SELECT value FROM service_runs WHERE due <= ?1 ORDER BY due, incident LIMIT ?2
