-- Format 8: a chain for each application and one for the system, with the payload beside what is hashed. What was one chain
-- goes on as the system's: its records stay as they are, hashed as they were.

DROP TRIGGER ledger_keeps_content;
DROP TRIGGER ledger_keeps_rows;

ALTER TABLE ledger ADD COLUMN chain TEXT NOT NULL DEFAULT '@system';
ALTER TABLE ledger ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN by TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger ADD COLUMN body TEXT;
UPDATE ledger SET place = seq;
CREATE UNIQUE INDEX ledger_by_chain ON ledger (chain, place);

-- Payloads that were erased, up to a place of a chain, with the record that tells of it.
CREATE TABLE ledger_erasures (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    chain TEXT NOT NULL,
    upto INTEGER NOT NULL,
    record INTEGER NOT NULL
);

-- The oldest records of a chain that were taken out: the hash of the last of them stays.
CREATE TABLE ledger_seals (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    chain TEXT NOT NULL,
    place INTEGER NOT NULL,
    hash TEXT NOT NULL,
    record INTEGER NOT NULL
);

-- A record leaves with its sealed segment alone, and its payload alone where a tombstone says so.
CREATE TRIGGER ledger_keeps_rows BEFORE DELETE ON ledger
WHEN NOT EXISTS (SELECT 1 FROM ledger_seals WHERE chain = OLD.chain AND place >= OLD.place)
BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;
CREATE TRIGGER ledger_keeps_content BEFORE UPDATE ON ledger
WHEN NOT (
    NEW.payload = ''
    AND (NEW.seq, NEW.format, NEW.incident, NEW.step, NEW.at, NEW.previous, NEW.hash, NEW.chain, NEW.place, NEW.by, NEW.body)
        IS (OLD.seq, OLD.format, OLD.incident, OLD.step, OLD.at, OLD.previous, OLD.hash, OLD.chain, OLD.place, OLD.by, OLD.body)
    AND EXISTS (SELECT 1 FROM ledger_erasures WHERE chain = OLD.chain AND upto >= OLD.place)
)
BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;

-- What the store is: heads that are kept elsewhere name it.
CREATE TABLE store_about (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO store_about VALUES ('id', lower(hex(randomblob(16))));
