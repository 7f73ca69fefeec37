UPDATE receipts SET state = ?2 WHERE seq = (SELECT max(seq) FROM receipts WHERE incident = ?1)
