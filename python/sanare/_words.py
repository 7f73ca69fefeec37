"""The closed lists of service healing, as types (S6). A test holds them against the lists of the Rust half."""

from __future__ import annotations

from typing import Literal

Action = Literal[
    "restart_component",
    "reload_model",
    "rollback_model",
    "request_retraining",
    "request_redeployment",
    "run_diagnostic",
    "escalate",
    "no_action",
]
AgentFailure = Literal[
    "timeout",
    "connection",
    "rate_limited",
    "not_authorised",
    "provider",
    "invalid_reply",
    "limit_reached",
    "invalid_result",
    "panicked",
    "declined",
]
ApprovalState = Literal["waiting", "granted", "used", "denied", "expired", "voided"]
Cause = Literal[
    "no_agent",
    "proposed",
    "budget",
    "denied",
    "expired",
    "unknown",
    "not_verified",
    "worse",
    "undo_failed",
    "refused",
    "internal",
]
ClosedBy = Literal["action", "itself", "person"]
Condition = Literal["pending", "firing", "clearing", "cleared"]
Decision = Literal["approve", "deny"]
Effect = Literal["done", "refused", "not_started", "unknown"]
Flag = Literal[
    "late",
    "out_of_order",
    "future",
    "backfill",
    "non_finite",
    "missing",
    "restated",
    "redacted",
    "truncated",
    "freshness_unknown",
]
Health = Literal["pass", "fail", "unknown"]
IncidentFlag = Literal["flapping", "silenced", "held", "chronic", "dry_run", "false_alarm"]
IncidentKind = Literal[
    "unreachable",
    "half_alive",
    "crash_loop",
    "error_rate_high",
    "latency_high",
    "throughput_collapse",
    "resource_exhausted",
    "model_load_failed",
    "wrong_model_version",
    "quality_low",
    "estimated_quality_low",
    "input_drift",
    "output_drift",
    "schema_violation",
    "feature_missing",
    "model_stale",
    "data_stale",
    "dependency_down",
    "signal_missing",
    "code_exception",
    "storm",
    "unclassified",
]
LinkKind = Literal["code_incident", "earlier", "part_of"]
Mark = Literal[
    "instance",
    "start_time",
    "load_time",
    "generation",
    "served_version",
    "alias_version",
    "revision",
    "candidate_version",
]
MessageKind = Literal["escalation", "approval_asked", "rolled_back", "refused", "healed"]
Mode = Literal["auto", "ask", "dry_run", "observe", "off"]
MovedBy = Literal["sanare", "others"]
ObservationKind = Literal["metric", "health", "log_signal", "prediction_quality", "drift", "deployment", "resource"]
Origin = Literal["rules", "model", "fallback", "person"]
Outcome = Literal["healed", "rolled_back", "escalated", "refused"]
Purpose = Literal["act", "undo"]
ReceiptState = Literal["intended", "started", "done", "failed", "unknown", "undone"]
Severity = Literal["low", "medium", "high", "critical"]
Standing = Literal["unknown", "good", "bad"]
Status = Literal["open", "handed_over", "closed"]
StepName = Literal[
    "opened",
    "evident",
    "diagnosed",
    "proposed",
    "judged",
    "checked",
    "waiting",
    "approved",
    "prepared",
    "applied",
    "undoing",
    "escalating",
    "closed",
]
Trust = Literal["own", "outside"]
Undo = Literal["none", "move_back", "cancel_job", "previous_revision"]
Verdict = Literal["permit", "ask", "refuse"]
VerificationOutcome = Literal["recovered", "not_recovered", "worse", "inconclusive", "not_verified"]
WorldState = Literal["before", "after", "neither", "cannot_tell"]
