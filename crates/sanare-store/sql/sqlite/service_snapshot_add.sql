INSERT INTO service_snapshots (digest, value) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING
