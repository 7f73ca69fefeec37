SELECT seq, format, incident, step, at, payload, previous, hash FROM ledger WHERE seq > ?1 ORDER BY seq LIMIT ?2
