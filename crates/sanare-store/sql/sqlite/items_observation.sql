SELECT CAST(number AS TEXT), application, value FROM service_observations
WHERE number > CAST(?2 AS INTEGER) AND (?1 IS NULL OR application = ?1) ORDER BY number LIMIT ?3
