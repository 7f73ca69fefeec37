SELECT CAST(number AS TEXT), json_extract(value, '$.application'), value FROM service_receipts
WHERE number > CAST(?2 AS INTEGER) AND (?1 IS NULL OR json_extract(value, '$.application') = ?1) ORDER BY number LIMIT ?3
