SELECT value FROM service_approvals WHERE state = 'waiting' ORDER BY number
