DELETE FROM service_observations WHERE application = ?1
