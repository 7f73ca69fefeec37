SELECT count(*) FROM service_acts WHERE at >= ?1
