SELECT place, hash FROM ledger WHERE chain = ?1 ORDER BY place DESC LIMIT 1
