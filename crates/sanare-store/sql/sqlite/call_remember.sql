INSERT INTO calls (function, mark, sealed, at) VALUES (?1, ?2, ?3, ?4)
