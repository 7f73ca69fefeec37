SELECT value FROM service_silences WHERE until > ?1 ORDER BY number
