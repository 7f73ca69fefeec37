INSERT INTO service_silences (id, until, value) VALUES (?1, ?2, ?3)
ON CONFLICT (id) DO UPDATE SET until = excluded.until, value = excluded.value
