SELECT incident FROM incidents WHERE standing = 'open' ORDER BY first_seq
