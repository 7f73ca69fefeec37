SELECT count(*) FROM spent WHERE bucket = ?1 AND at > ?2
