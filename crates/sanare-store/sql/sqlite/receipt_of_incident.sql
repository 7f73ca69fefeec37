SELECT incident, path, function, before, after, original, original_hash, replacement, replacement_hash, start, state, at,
    fingerprint, code, text, sealed
FROM receipts WHERE incident = ?1 ORDER BY seq DESC LIMIT 1
