INSERT INTO ledger (seq, format, incident, step, at, payload, previous, hash)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
