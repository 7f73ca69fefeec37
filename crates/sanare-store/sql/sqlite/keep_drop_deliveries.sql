DELETE FROM service_deliveries WHERE message IN (SELECT key FROM service_outbox WHERE incident IN (SELECT ids.value FROM json_each(?1) AS ids))
