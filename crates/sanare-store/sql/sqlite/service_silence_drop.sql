DELETE FROM service_silences WHERE id = ?1
