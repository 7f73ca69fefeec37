INSERT INTO service_deliveries (message, route, state, value) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (message, route) DO UPDATE SET state = excluded.state, value = excluded.value
