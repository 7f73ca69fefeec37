SELECT content FROM service_observations WHERE application = ?1 AND source = ?2 AND source_id = ?3
