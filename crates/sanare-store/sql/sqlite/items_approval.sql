SELECT CAST(asked.number AS TEXT), coalesce(json_extract(incidents.value, '$.application'), ''), asked.value
FROM service_approvals AS asked
LEFT JOIN service_incidents AS incidents ON incidents.id = json_extract(asked.value, '$.binding.incident')
WHERE asked.number > CAST(?2 AS INTEGER) AND (?1 IS NULL OR json_extract(incidents.value, '$.application') = ?1)
ORDER BY asked.number LIMIT ?3
