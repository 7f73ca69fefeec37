SELECT seq, format, incident, step, at, payload, previous, hash FROM ledger ORDER BY seq
