-- Format 6: what keeps services quiet, and what detection goes on from after a restart.

CREATE TABLE service_silences (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    until INTEGER NOT NULL,
    value TEXT NOT NULL
);
CREATE INDEX service_silences_by_end ON service_silences (until);

-- States of detectors, by key, in a form of their own that names its version.
CREATE TABLE service_states (
    key TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;
