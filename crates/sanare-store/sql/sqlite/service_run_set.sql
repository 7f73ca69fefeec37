INSERT INTO service_runs (incident, revision, due, target, value) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (incident) DO UPDATE SET revision = excluded.revision, due = excluded.due, target = excluded.target, value = excluded.value
