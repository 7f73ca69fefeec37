INSERT INTO service_measured (receipt, figure, value) VALUES (?1, ?2, ?3)
ON CONFLICT (receipt) DO UPDATE SET figure = excluded.figure, value = excluded.value
