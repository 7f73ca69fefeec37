SELECT coalesce(min(number), 0) FROM service_observations
