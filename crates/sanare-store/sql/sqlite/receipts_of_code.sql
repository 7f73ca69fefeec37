SELECT incident, path, function, before, after, original, original_hash, replacement, replacement_hash, start, state, at,
    fingerprint, code, text, sealed
FROM receipts WHERE code = ?1 AND state IN ('open', 'done') ORDER BY seq DESC
