DELETE FROM service_runs WHERE incident IN (SELECT id FROM service_incidents WHERE json_extract(value, '$.application') = ?1)
