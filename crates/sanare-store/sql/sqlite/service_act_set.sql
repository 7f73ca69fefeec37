INSERT INTO service_acts (receipt, at, value) VALUES (?1, ?2, ?3)
ON CONFLICT (receipt) DO UPDATE SET at = excluded.at, value = excluded.value
