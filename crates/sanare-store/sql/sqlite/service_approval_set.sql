INSERT INTO service_approvals (id, state, value) VALUES (?1, ?2, ?3)
ON CONFLICT (id) DO UPDATE SET state = excluded.state, value = excluded.value
