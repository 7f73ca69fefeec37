INSERT INTO ledger (seq, format, chain, place, incident, step, at, by, payload, body, previous, hash)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
