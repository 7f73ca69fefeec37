DELETE FROM service_approvals WHERE json_extract(value, '$.binding.incident') IN (SELECT ids.value FROM json_each(?1) AS ids)
