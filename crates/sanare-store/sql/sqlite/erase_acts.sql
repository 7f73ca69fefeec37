DELETE FROM service_acts WHERE json_extract(value, '$.application') = ?1 AND at < ?2
