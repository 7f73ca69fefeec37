-- Calls to models, for budgets in sliding windows. Costs are the most possible until the call is settled.

CREATE TABLE model_calls (
    number INTEGER PRIMARY KEY,
    incident TEXT NOT NULL,
    at INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    money INTEGER NOT NULL
);
CREATE INDEX model_calls_by_time ON model_calls (at);
CREATE INDEX model_calls_by_incident ON model_calls (incident);
