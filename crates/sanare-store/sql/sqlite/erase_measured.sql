DELETE FROM service_measured WHERE receipt IN (SELECT id FROM service_receipts WHERE incident IN (SELECT ids.value FROM json_each(?1) AS ids))
