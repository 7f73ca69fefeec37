SELECT value, number FROM service_observations WHERE number > ?1 AND source = ?2 ORDER BY number
