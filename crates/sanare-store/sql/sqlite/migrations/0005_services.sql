-- Format 5: service healing. Each row holds its value as JSON, and beside it the columns that it is found by.

-- Readings. A number is their place among all.
CREATE TABLE service_observations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    application TEXT NOT NULL,
    source TEXT NOT NULL,
    source_id TEXT NOT NULL,
    content TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (application, source, source_id)
);
CREATE INDEX service_observations_by_application ON service_observations (application, number);

-- One open or handed-over incident has a fingerprint.
CREATE TABLE service_incidents (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    fingerprint TEXT NOT NULL,
    closed INTEGER NOT NULL CHECK (closed IN (0, 1)),
    value TEXT NOT NULL
);
CREATE INDEX service_incidents_by_fingerprint ON service_incidents (fingerprint, number);
CREATE UNIQUE INDEX service_incidents_open ON service_incidents (fingerprint) WHERE closed = 0;

-- Runs. `due` is empty for one that has ended, `target` for one that neither acts nor verifies.
CREATE TABLE service_runs (
    incident TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    due INTEGER,
    target TEXT,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX service_runs_due ON service_runs (due) WHERE due IS NOT NULL;
CREATE INDEX service_runs_target ON service_runs (target) WHERE target IS NOT NULL;

CREATE TABLE service_snapshots (
    digest TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE service_receipts (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    incident TEXT NOT NULL,
    target TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('intended', 'started', 'done', 'failed', 'unknown', 'undone')),
    value TEXT NOT NULL
);
CREATE INDEX service_receipts_by_incident ON service_receipts (incident, number);
CREATE INDEX service_receipts_unsettled ON service_receipts (target, number)
    WHERE state IN ('intended', 'started', 'unknown');

CREATE TABLE service_approvals (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'granted', 'used', 'denied', 'expired', 'voided')),
    value TEXT NOT NULL
);
CREATE INDEX service_approvals_waiting ON service_approvals (number) WHERE state = 'waiting';

-- What the limits count.
CREATE TABLE service_acts (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    receipt TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    value TEXT NOT NULL
);
CREATE INDEX service_acts_by_time ON service_acts (at);

-- What the figures count.
CREATE TABLE service_measured (
    receipt TEXT PRIMARY KEY,
    figure TEXT NOT NULL,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX service_measured_by_figure ON service_measured (figure);

-- Messages to people, until they are delivered.
CREATE TABLE service_outbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    incident TEXT NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL,
    delivered INTEGER NOT NULL DEFAULT 0 CHECK (delivered IN (0, 1))
);
CREATE INDEX service_outbox_open ON service_outbox (number) WHERE delivered = 0;
