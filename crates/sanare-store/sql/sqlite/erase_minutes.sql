DELETE FROM service_minutes WHERE (application, series, minute) IN (SELECT application, series, minute FROM service_minutes WHERE application = ?1 LIMIT ?2)
