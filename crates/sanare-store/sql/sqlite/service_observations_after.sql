SELECT value, number FROM service_observations WHERE number > ?1 ORDER BY number LIMIT ?2
