-- Format 1: the ledger and what hangs on it. Times are milliseconds since 1970.

CREATE TABLE ledger (
    seq INTEGER PRIMARY KEY,
    format INTEGER NOT NULL,
    incident TEXT NOT NULL,
    step TEXT NOT NULL,
    at INTEGER NOT NULL,
    payload TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE INDEX ledger_by_incident ON ledger (incident, seq);

CREATE TRIGGER ledger_keeps_rows BEFORE DELETE ON ledger
BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;
CREATE TRIGGER ledger_keeps_content BEFORE UPDATE ON ledger
BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;

-- An index over the ledger: how each incident stands by its last step. It can be made again from the ledger.
CREATE TABLE incidents (
    incident TEXT PRIMARY KEY,
    first_seq INTEGER NOT NULL,
    standing TEXT NOT NULL CHECK (standing IN ('open', 'waiting', 'applied', 'closed'))
) WITHOUT ROWID;
CREATE INDEX incidents_by_first ON incidents (first_seq);
CREATE INDEX incidents_open ON incidents (standing, first_seq);

-- The owner's own source, as it was and as the repair leaves it. Named by the ledger record that it was written with.
CREATE TABLE receipts (
    seq INTEGER PRIMARY KEY REFERENCES ledger (seq),
    incident TEXT NOT NULL,
    path TEXT NOT NULL,
    function TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    original BLOB NOT NULL,
    original_hash TEXT NOT NULL,
    replacement BLOB NOT NULL,
    replacement_hash TEXT NOT NULL,
    start INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('planned', 'open', 'done', 'undone')),
    at INTEGER NOT NULL
);
CREATE INDEX receipts_by_incident ON receipts (incident, seq);
CREATE INDEX receipts_by_state ON receipts (state, seq);

-- Shapes of good calls, without values. A higher number is newer.
CREATE TABLE shapes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    function TEXT NOT NULL,
    shape TEXT NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (function, shape)
);

-- A row stays when its lease ends: its fence only grows.
CREATE TABLE leases (
    key TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    fence INTEGER NOT NULL,
    until INTEGER NOT NULL
) WITHOUT ROWID;

-- How failures rest.
CREATE TABLE rests (
    fingerprint TEXT PRIMARY KEY,
    until INTEGER NOT NULL,
    times INTEGER NOT NULL,
    occurrences INTEGER NOT NULL
) WITHOUT ROWID;
