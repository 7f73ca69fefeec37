DELETE FROM service_approvals WHERE json_extract(value, '$.binding.incident') IN (SELECT id FROM service_incidents WHERE json_extract(value, '$.application') = ?1)
