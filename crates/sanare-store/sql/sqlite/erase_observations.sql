DELETE FROM service_observations WHERE number IN (SELECT number FROM service_observations WHERE application = ?1 AND number <= ?2 ORDER BY number LIMIT ?3)
