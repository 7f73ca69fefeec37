SELECT hash FROM ledger WHERE chain = ?1 AND place = ?2
