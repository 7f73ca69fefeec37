SELECT value, number FROM service_observations WHERE number > ?1 AND number <= ?2 ORDER BY number LIMIT ?3
