DELETE FROM service_deliveries WHERE message IN (SELECT key FROM service_outbox WHERE incident IN (SELECT id FROM service_incidents WHERE json_extract(value, '$.application') = ?1))
