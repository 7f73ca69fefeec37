-- Format 7: how each message to people stands on each route that it was tried by.
CREATE TABLE service_deliveries (
    message TEXT NOT NULL,
    route TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
    value TEXT NOT NULL,
    PRIMARY KEY (message, route)
) WITHOUT ROWID;
CREATE INDEX service_deliveries_open ON service_deliveries (message) WHERE state <> 'delivered';
