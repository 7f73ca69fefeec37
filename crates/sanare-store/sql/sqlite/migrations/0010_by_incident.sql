-- Format 10: what hangs on an incident is found without reading all of it, so that forgetting holds nobody up.

CREATE INDEX service_snapshots_by_incident ON service_snapshots (json_extract(value, '$.incident.id'));
CREATE INDEX service_snapshots_by_application ON service_snapshots (json_extract(value, '$.incident.application'));
CREATE INDEX service_approvals_by_incident ON service_approvals (json_extract(value, '$.binding.incident'));
CREATE INDEX service_outbox_by_incident ON service_outbox (incident);
CREATE INDEX service_incidents_by_application ON service_incidents (json_extract(value, '$.application'), number);
CREATE INDEX service_receipts_by_application ON service_receipts (json_extract(value, '$.application'), number);
