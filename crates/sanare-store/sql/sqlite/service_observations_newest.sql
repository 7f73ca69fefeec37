SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'service_observations'), 0)
