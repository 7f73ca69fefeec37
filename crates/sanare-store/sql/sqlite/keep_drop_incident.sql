DELETE FROM service_incidents WHERE id IN (SELECT ids.value FROM json_each(?1) AS ids)
