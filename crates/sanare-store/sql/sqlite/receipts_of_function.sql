SELECT incident, path, function, before, after, original, original_hash, replacement, replacement_hash, start, state, at,
    fingerprint, code, text, sealed
FROM receipts WHERE path = ?1 AND function = ?2 AND state = 'done' ORDER BY seq
