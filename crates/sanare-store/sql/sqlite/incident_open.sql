INSERT INTO incidents (incident, first_seq, standing) VALUES (?1, ?2, 'open') ON CONFLICT (incident) DO NOTHING
