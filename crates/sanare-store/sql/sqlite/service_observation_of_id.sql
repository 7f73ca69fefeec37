SELECT value, number FROM service_observations WHERE id = ?1
