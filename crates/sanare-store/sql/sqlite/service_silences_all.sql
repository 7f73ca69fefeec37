SELECT value FROM service_silences ORDER BY number
