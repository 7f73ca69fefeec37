DELETE FROM service_snapshots WHERE json_extract(value, '$.incident.id') IN (SELECT ids.value FROM json_each(?1) AS ids)
