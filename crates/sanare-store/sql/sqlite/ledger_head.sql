SELECT seq, hash FROM ledger ORDER BY seq DESC LIMIT 1
