INSERT INTO rests (fingerprint, until, times, occurrences) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (fingerprint) DO UPDATE
SET until = excluded.until, times = excluded.times, occurrences = excluded.occurrences
