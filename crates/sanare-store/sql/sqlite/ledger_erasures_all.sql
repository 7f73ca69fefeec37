SELECT chain, upto, record FROM ledger_erasures ORDER BY number
