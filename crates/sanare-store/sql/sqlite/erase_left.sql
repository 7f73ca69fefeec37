SELECT count(*) FROM ledger WHERE format = 1 AND payload <> '' AND incident IN (SELECT id FROM service_incidents WHERE json_extract(value, '$.application') = ?1)
