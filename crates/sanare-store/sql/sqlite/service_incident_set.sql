INSERT INTO service_incidents (id, fingerprint, closed, value) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, closed = excluded.closed, value = excluded.value
