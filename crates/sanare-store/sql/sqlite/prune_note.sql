INSERT INTO ledger_seals (chain, place, hash, record) VALUES (?1, ?2, ?3, ?4)
