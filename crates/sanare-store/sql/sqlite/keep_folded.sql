SELECT CAST(value AS INTEGER) FROM store_about WHERE name = 'folded'
