SELECT chain FROM ledger WHERE incident = ?1 ORDER BY seq LIMIT 1
