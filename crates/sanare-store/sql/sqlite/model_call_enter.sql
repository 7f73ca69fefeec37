INSERT INTO model_calls (incident, at, tokens, money) VALUES (?1, ?2, ?3, ?4)
