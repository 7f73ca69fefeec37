SELECT seq, format, chain, place, incident, step, at, by, payload, body, previous, hash FROM ledger WHERE incident = ?1 ORDER BY seq
