SELECT json_array(application, series, minute), application, series, minute, count, sum, least, most FROM service_minutes
WHERE (application, series, minute) > (
    coalesce(json_extract(nullif(?2, ''), '$[0]'), ''),
    coalesce(json_extract(nullif(?2, ''), '$[1]'), ''),
    coalesce(json_extract(nullif(?2, ''), '$[2]'), 0)
) AND (?1 IS NULL OR application = ?1) ORDER BY application, series, minute LIMIT ?3
