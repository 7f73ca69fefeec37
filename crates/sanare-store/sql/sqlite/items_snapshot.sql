SELECT digest, json_extract(value, '$.incident.application'), value FROM service_snapshots
WHERE digest > ?2 AND (?1 IS NULL OR json_extract(value, '$.incident.application') = ?1) ORDER BY digest LIMIT ?3
