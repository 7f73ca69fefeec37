-- What lies here only under the owner's key: good calls with their values, and repairs whose text holds a secret.

CREATE TABLE calls (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    function TEXT NOT NULL,
    mark TEXT NOT NULL,
    sealed BLOB NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (function, mark)
);

-- 1: `original`, `replacement` and `text` are sealed; the hashes are those of the plain bytes.
ALTER TABLE receipts ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0;
