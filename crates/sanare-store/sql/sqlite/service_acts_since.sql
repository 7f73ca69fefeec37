SELECT value FROM service_acts WHERE at >= ?1 ORDER BY number
