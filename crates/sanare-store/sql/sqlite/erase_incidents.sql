DELETE FROM service_incidents WHERE json_extract(value, '$.application') = ?1
