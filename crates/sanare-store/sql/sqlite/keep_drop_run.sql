DELETE FROM service_runs WHERE incident IN (SELECT ids.value FROM json_each(?1) AS ids)
