SELECT seq, format, chain, place, incident, step, at, by, payload, body, previous, hash FROM ledger WHERE seq > ?1 ORDER BY seq LIMIT ?2
