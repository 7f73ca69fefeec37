INSERT INTO spent (bucket, at) VALUES (?1, ?2)
