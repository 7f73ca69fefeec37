UPDATE store_about SET value = ?1 WHERE name = 'folded'
