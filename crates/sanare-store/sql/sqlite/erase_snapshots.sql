DELETE FROM service_snapshots WHERE json_extract(value, '$.incident.application') = ?1
