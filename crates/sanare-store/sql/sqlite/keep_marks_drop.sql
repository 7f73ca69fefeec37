DELETE FROM service_marks WHERE minute < ?1 AND minute < (SELECT max(minute) FROM service_marks WHERE minute <= ?1)
