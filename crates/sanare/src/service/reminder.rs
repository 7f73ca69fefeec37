//! Reminders of what was told and still waits for a person: every half hour, three times, then silence (S54).
//!
//! What waits is kept by the message that told of it, and goes on after a restart. A reminder is a message of the same
//! kind under an id of its own; it is kept that it was made in the transaction that queues it.

use sanare_core::id::Id;
use sanare_core::port::{Clock, StoreFault};
use sanare_core::redact::Redactor;
use sanare_core::service::run::{Change, Message, MessageKind};
use sanare_core::service::word::Severity;
use sanare_core::service::{ApprovalState, Incident, IncidentFlag, IncidentKind, Moment, ServiceStore, Status};
use sanare_detect::quiet::Waiting;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::courier::{is_noticed, severity};
use super::watch::fault;

/// Where it is kept what waits, with the message's key behind.
const TOLD: &str = "told/";
/// Open incidents among which those of a group are looked for.
const OPEN: usize = 10_000;

/// What was told and waits for a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    kind: MessageKind,
    incident: Id,
    /// The group that it told of, which may be more than the incident.
    group: Option<Id>,
    /// The question, if it is one.
    approval: Option<Id>,
    severity: Severity,
    /// When it was queued: what a person did since is notice taken.
    at: Moment,
    waiting: Waiting,
}

/// How what was told stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stand {
    /// It waits for a person.
    Waits,
    /// It waits, and nobody is to be told now.
    Quiet,
    /// It is answered, taken, or over.
    Over,
}

/// A message was taken by somebody at `at`: what waits for a person is kept.
///
/// # Errors
/// [`StoreFault`].
pub(super) fn was_told(
    store: &dyn ServiceStore,
    clock: &dyn Clock,
    message: &Message,
    incident: &Incident,
    at: Moment,
) -> Result<(), StoreFault> {
    let waits = matches!(message.kind, MessageKind::Escalation | MessageKind::ApprovalAsked);
    let key = format!("{TOLD}{}", message.key);
    if !waits || message.reminder().is_some() || store.states(&key)?.iter().any(|(known, _)| *known == key) {
        return Ok(());
    }
    let body = message.body.as_ref();
    let approval = body.get("approval").and_then(|id| id.as_str());
    let told = Told {
        kind: message.kind,
        incident: message.incident.clone(),
        group: message.key.strip_prefix("escalation/group/").map(Id::from_text),
        approval: approval.filter(|_| message.kind == MessageKind::ApprovalAsked).map(Id::from_text),
        severity: severity(message, incident),
        at: message.at,
        waiting: Waiting::told(at),
    };
    keep(store, clock, vec![(key, Some(written(&told)?))], Vec::new())
}

/// Queues the reminders that are due, and forgets what does not wait any more. In a storm nobody is reminded of what it
/// consists of.
///
/// # Errors
/// [`StoreFault`].
pub(super) fn remind(store: &dyn ServiceStore, clock: &dyn Clock, stormy: bool) -> Result<(), StoreFault> {
    let now = Moment::from_millis(clock.now());
    let mut gone = Vec::new();
    for (key, bytes) in store.states(TOLD)? {
        let told = serde_json::from_slice::<Told>(&bytes).ok();
        let (Some(mut told), Some(message)) = (told, key.strip_prefix(TOLD)) else {
            gone.push((key, None));
            continue;
        };
        let incident = store.incident(&told.incident)?;
        let stands = match &incident {
            Some(incident) => stand(store, &told, message, incident)?,
            None => Stand::Over,
        };
        let storm = incident.as_ref().is_some_and(|one| one.kind == IncidentKind::Storm);
        if stands == Stand::Over {
            gone.push((key, None));
        } else if let Some(incident) = incident
            && stands == Stand::Waits
            && (storm || !stormy)
            && let Some(number) = told.waiting.remind(now)
        {
            let reminder = reminder(&told, message, &incident, number, now);
            let state = if told.waiting.is_over() { None } else { Some(written(&told)?) };
            keep(store, clock, vec![(key, state)], vec![reminder])?;
        }
    }
    if gone.is_empty() { Ok(()) } else { keep(store, clock, gone, Vec::new()) }
}

/// Whether a reminder has come too late: what it reminds of does not wait any more.
///
/// # Errors
/// [`StoreFault`].
pub(super) fn is_late(store: &dyn ServiceStore, message: &Message, incident: &Incident) -> Result<bool, StoreFault> {
    let body = message.body.as_ref();
    let approval = body.get("approval").and_then(|id| id.as_str()).map(Id::from_text);
    let group = body.get("group").and_then(|id| id.as_str()).map(Id::from_text);
    let waits = match approval {
        Some(approval) => is_asked(store, &approval)?,
        None => incident.status() == Status::HandedOver || group_stands(store, group.as_ref())?,
    };
    Ok(!waits)
}

fn stand(store: &dyn ServiceStore, told: &Told, key: &str, incident: &Incident) -> Result<Stand, StoreFault> {
    let message = Message {
        key: key.to_owned(),
        kind: told.kind,
        incident: told.incident.clone(),
        body: Redactor::standard().json(&json!({})),
        at: told.at,
    };
    let waits = match &told.approval {
        Some(approval) => is_asked(store, approval)?,
        None if is_noticed(store, &message)? => false,
        None => incident.status() == Status::HandedOver || group_stands(store, told.group.as_ref())?,
    };
    let quiet = incident.is(IncidentFlag::Silenced) || incident.inhibited_by.is_some();
    Ok(match (waits, quiet) {
        (false, _) => Stand::Over,
        (true, true) => Stand::Quiet,
        (true, false) => Stand::Waits,
    })
}

fn is_asked(store: &dyn ServiceStore, approval: &Id) -> Result<bool, StoreFault> {
    Ok(store.approval(approval)?.is_some_and(|one| one.state == ApprovalState::Waiting))
}

/// Whether any incident of a group is handed over still.
fn group_stands(store: &dyn ServiceStore, group: Option<&Id>) -> Result<bool, StoreFault> {
    let Some(group) = group else { return Ok(false) };
    let open = store.open_incidents(OPEN)?;
    Ok(open.iter().any(|one| one.group.as_ref() == Some(group) && one.status() == Status::HandedOver))
}

fn reminder(told: &Told, key: &str, incident: &Incident, number: u8, now: Moment) -> Message {
    let command = match &told.approval {
        Some(approval) => format!("sanare approve {approval}"),
        None => format!("sanare incident ack {}", incident.id),
    };
    let body = json!({
        "reminder": number, "of": key, "since": told.at, "incident": incident.id, "application": incident.application,
        "component": incident.component, "kind": incident.kind, "severity": told.severity.max(incident.severity),
        "summary": incident.summary, "approval": told.approval, "group": told.group,
        "next": [format!("sanare incident show {}", incident.id), command],
    });
    Message {
        key: format!("{key}/reminder/{number}"),
        kind: told.kind,
        incident: told.incident.clone(),
        body: Redactor::standard().json(&body),
        at: now,
    }
}

fn written(told: &Told) -> Result<Vec<u8>, StoreFault> {
    serde_json::to_vec(told).map_err(|error| StoreFault::Unusable(error.to_string()))
}

fn keep(
    store: &dyn ServiceStore,
    clock: &dyn Clock,
    states: Vec<(String, Option<Vec<u8>>)>,
    messages: Vec<Message>,
) -> Result<(), StoreFault> {
    store.commit(&Change { now: clock.now(), states, messages, ..Change::default() }).map(drop).map_err(fault)
}
