-- Format 9: what is forgotten with time.

-- How far readings had come at a minute: by it their age is known, without a column on each.
CREATE TABLE service_marks (
    minute INTEGER PRIMARY KEY,
    number INTEGER NOT NULL
);

-- Readings of a minute, once they are two days old. `series` is component, signal and labels as canonical JSON.
CREATE TABLE service_minutes (
    application TEXT NOT NULL,
    series TEXT NOT NULL,
    minute INTEGER NOT NULL,
    count INTEGER NOT NULL,
    sum REAL NOT NULL,
    least REAL NOT NULL,
    most REAL NOT NULL,
    PRIMARY KEY (application, series, minute)
) WITHOUT ROWID;
CREATE INDEX service_minutes_by_time ON service_minutes (minute);
INSERT INTO store_about VALUES ('folded', '0');
