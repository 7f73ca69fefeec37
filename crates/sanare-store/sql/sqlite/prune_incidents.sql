DELETE FROM incidents WHERE standing = 'closed' AND incident NOT IN (SELECT incident FROM ledger)
