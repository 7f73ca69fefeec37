SELECT coalesce(max(number), 0) FROM service_marks WHERE minute <= ?1
