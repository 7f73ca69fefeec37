SELECT coalesce(max(number), 0) FROM service_observations
