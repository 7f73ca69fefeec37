SELECT chain, max(place), hash FROM ledger GROUP BY chain ORDER BY chain
