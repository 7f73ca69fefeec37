INSERT INTO ledger_erasures (chain, upto, record) VALUES (?1, ?2, ?3)
