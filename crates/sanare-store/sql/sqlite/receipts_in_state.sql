SELECT incident, path, function, before, after, original, original_hash, replacement, replacement_hash, start, state, at
FROM receipts WHERE state = ?1 ORDER BY seq
