INSERT INTO receipts (
    seq, incident, path, function, before, after, original, original_hash, replacement, replacement_hash, start, state, at,
    fingerprint, code, text, sealed
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
