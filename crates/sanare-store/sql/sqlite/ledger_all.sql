SELECT seq, format, chain, place, incident, step, at, by, payload, body, previous, hash FROM ledger ORDER BY seq
