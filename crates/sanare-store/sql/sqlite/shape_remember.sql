INSERT INTO shapes (function, shape, at) VALUES (?1, ?2, ?3)
