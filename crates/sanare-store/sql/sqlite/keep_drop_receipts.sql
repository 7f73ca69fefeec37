DELETE FROM service_receipts WHERE incident IN (SELECT ids.value FROM json_each(?1) AS ids)
