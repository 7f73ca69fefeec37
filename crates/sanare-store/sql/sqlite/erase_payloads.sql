UPDATE ledger SET payload = '' WHERE chain = ?1 AND place <= ?2 AND payload <> '' AND format > 1
