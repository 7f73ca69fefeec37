SELECT value FROM store_about WHERE name = 'id'
