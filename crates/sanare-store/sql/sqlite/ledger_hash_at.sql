SELECT hash FROM ledger WHERE seq = ?1
