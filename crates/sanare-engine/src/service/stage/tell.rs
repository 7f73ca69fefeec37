//! Handing over: what a person needs, into the outbox, in the transaction that ends the run (S113).

use sanare_core::id::Id;
use sanare_core::outcome::Outcome;
use sanare_core::service::attempt::application_attempts;
use sanare_core::service::run::MessageKind;
use sanare_core::service::step::{Closed, Escalating, Step};
use sanare_core::service::word::Severity;
use serde_json::{Value as Json, json};

use crate::service::next::next;
use crate::service::offer::withheld;
use crate::service::turn::{Next, Turn};

/// Tells a person, and ends the run; the incident stays open until it clears or a person closes it.
pub(crate) fn tell(turn: &mut Turn<'_>, escalating: &Escalating) -> Next {
    let incident = &turn.incident;
    let severity = if escalating.critical { Severity::Critical } else { incident.severity };
    let attempts: Vec<Json> = incident
        .attempts
        .iter()
        .map(|one| {
            json!({ "number": one.number, "action": one.action, "outcome": one.outcome, "effect": one.effect,
            "summary": one.summary, "receipt": one.receipt_id })
        })
        .collect();
    let versions = turn.world.house.versions(incident);
    let diagnosis = turn.world.store.records_of(&incident.id).ok().and_then(|records| {
        records.iter().rfind(|record| record.step == "diagnosed").map(|record| record.json()["diagnosis"].clone())
    });
    let withheld = withheld(turn);
    let mut commands = vec![format!("sanare incident show {}", incident.id)];
    commands.extend(next(incident, &withheld, &versions));
    let body = json!({
        "incident": incident.id, "application": incident.application, "component": incident.component,
        "kind": incident.kind, "severity": severity, "since": incident.opened, "summary": incident.summary,
        "cause": escalating.cause, "why": escalating.why, "evidence": incident.evidence, "diagnosis": diagnosis,
        "attempts": attempts, "versions": versions, "withheld": withheld, "next": commands, "group": incident.group,
    });
    match told_with_its_group(turn, escalating) {
        Some(group) => turn.tell_as(format!("escalation/group/{group}"), MessageKind::Escalation, &body),
        None => turn.tell(MessageKind::Escalation, &body),
    }
    let why = escalating.why.clone();
    Next::Go(Step::Closed(Closed { outcome: Outcome::Escalated, closed_by: None, why }))
}

/// The group whose one escalation tells of this incident too (S49). What was acted on, comes again or is critical beyond
/// its kind is always told by itself.
fn told_with_its_group(turn: &Turn<'_>, escalating: &Escalating) -> Option<Id> {
    let incident = &turn.incident;
    let first = turn.run.began == incident.opened && application_attempts(&incident.attempts) == 0;
    incident.group.clone().filter(|_| first && !escalating.critical)
}
