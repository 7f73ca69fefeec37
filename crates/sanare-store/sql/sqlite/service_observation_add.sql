INSERT INTO service_observations (id, application, source, source_id, content, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
