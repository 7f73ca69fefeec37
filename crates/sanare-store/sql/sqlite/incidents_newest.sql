SELECT incident FROM incidents ORDER BY first_seq DESC LIMIT ?1
