SELECT value FROM service_approvals WHERE state IN ('waiting', 'granted') ORDER BY number
