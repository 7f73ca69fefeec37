INSERT INTO service_outbox (key, kind, incident, at, body) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (key) DO NOTHING
