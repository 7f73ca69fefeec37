SELECT value FROM service_approvals WHERE id = ?1
