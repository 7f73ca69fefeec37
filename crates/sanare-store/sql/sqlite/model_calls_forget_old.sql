DELETE FROM model_calls WHERE at < ?1
