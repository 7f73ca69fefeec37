UPDATE model_calls SET tokens = ?2, money = ?3 WHERE number = ?1
