INSERT INTO service_receipts (id, incident, target, state, value) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (id) DO UPDATE SET state = excluded.state, value = excluded.value
