-- Format 2: which code a receipt repairs and with which text, so that others can adopt the repair; and budgets.

ALTER TABLE receipts ADD COLUMN fingerprint TEXT NOT NULL DEFAULT '';
ALTER TABLE receipts ADD COLUMN code TEXT NOT NULL DEFAULT '';
ALTER TABLE receipts ADD COLUMN text TEXT NOT NULL DEFAULT '';
CREATE INDEX receipts_by_code ON receipts (code, seq);

-- One row a unit taken. Times only grow within a bucket, whatever the clock does.
CREATE TABLE spent (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    bucket TEXT NOT NULL,
    at INTEGER NOT NULL
);
CREATE INDEX spent_by_bucket ON spent (bucket, number);
