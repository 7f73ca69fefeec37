SELECT state FROM service_approvals WHERE id = ?1
