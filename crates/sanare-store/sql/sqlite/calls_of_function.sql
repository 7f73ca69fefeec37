SELECT sealed FROM calls WHERE function = ?1 AND at >= ?2 ORDER BY number DESC
