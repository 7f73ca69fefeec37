UPDATE ledger SET payload = '' WHERE chain = ?1 AND place > ?2 AND place <= ?3 AND payload <> '' AND format > 1
