SELECT seq, format, incident, step, at, payload, previous, hash FROM ledger WHERE incident = ?1 ORDER BY seq
