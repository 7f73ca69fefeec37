SELECT chain, place, hash, record FROM ledger_seals ORDER BY number
