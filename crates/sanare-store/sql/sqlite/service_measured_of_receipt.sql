SELECT value FROM service_measured WHERE receipt = ?1
