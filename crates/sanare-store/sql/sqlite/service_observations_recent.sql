SELECT value, number FROM service_observations WHERE application = ?1 ORDER BY number DESC LIMIT ?2
