//! People act too: they propose, hold, retry and close, under the same policy, lease, receipt and verification (S114).

use sanare_core::id::Id;
use sanare_core::outcome::Outcome;
use sanare_core::port::StoreFault;
use sanare_core::service::declaration::Undo;
use sanare_core::service::proposal::Params;
use sanare_core::service::step::{Closed, Proposed, Step};
use sanare_core::service::target::Identity;
use sanare_core::service::word::{ClosedBy, Condition, IncidentFlag, Origin, Status, StepName};
use sanare_core::service::{
    Action, Advice, AgentName, AgentResult, Application, Diagnosis, NotMade, ReceiptState, Run, Text,
};
use serde_json::json;

use super::Loop;
use super::careful;
use super::offer::{fitting, offered};
use super::stage::{act, gather};
use super::turn::{Next, Turn};

/// Why what a person asked for was not done.
#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    /// There is no such incident.
    #[error("there is no such incident")]
    Unknown,
    /// It belongs to another application than was named.
    #[error("the incident is of another application")]
    OtherApplication,
    /// A reason is needed.
    #[error("a reason is needed")]
    NoReason,
    /// It is not available now, and why.
    #[error("{0}")]
    NotAvailable(String),
    /// An act is under way; it is followed to its end first.
    #[error("an act is under way; it is followed to its end first")]
    UnderWay,
    /// A worker has the application at this moment.
    #[error("a worker has it at this moment; try again")]
    Busy,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

impl From<NotMade> for NotDone {
    fn from(not_made: NotMade) -> Self {
        match not_made {
            NotMade::Store(fault) => Self::Store(fault),
            // Of two incidents of one fingerprint one at most is open.
            open @ NotMade::Open(_) => Self::NotAvailable(open.to_string()),
            _ => Self::Busy,
        }
    }
}

impl Loop<'_> {
    /// Proposes an action for an incident. Policy judges it like any other, and somebody else approves it.
    ///
    /// # Errors
    /// [`NotDone`]; then nothing changed.
    pub fn propose(
        &self,
        incident: &Id,
        application: &Application,
        action: Action,
        principal: &str,
        reason: &str,
    ) -> Result<(), NotDone> {
        let why = Text::<300>::of(reason);
        if why.is_empty() {
            return Err(NotDone::NoReason);
        }
        self.under(incident, Some(application), |turn| {
            idle(turn)?;
            if action.is_framework() || !offered(turn).contains(&action) {
                let why = fitting(turn, action).err().unwrap_or_else(|| format!("{action} is not available here"));
                return Err(NotDone::NotAvailable(why));
            }
            act::put_away(turn, "a person proposes something else")?;
            let Next::Go(Step::Evident { snapshot, .. }) = gather::gather(turn)? else {
                return Err(NotDone::NotAvailable("a budget of the incident is spent; retry it first".to_owned()));
            };
            let diagnosis = Diagnosis {
                id: turn.world.id("dia"),
                incident_id: turn.incident.id.clone(),
                origin: Origin::Person,
                agent: AgentName::Person { name: principal.to_owned() },
                failure: None,
                summary: why.clone(),
                confidence_reported: 1.0,
                confidence: 1.0,
                confidence_measured: None,
                probable_cause: Some(why.clone()),
                // Nothing is cited, so that policy asks for somebody else's word.
                evidence_used: Vec::new(),
                alternatives: Vec::new(),
                missing_information: Vec::new(),
                evidence_digest: snapshot,
                at: turn.now(),
            };
            let (fitting, params) = fitting(turn, action).map_err(NotDone::NotAvailable)?;
            let declaration = fitting.adapter.declaration();
            let (target, undo, seen) =
                (declaration.target.clone(), declaration.undo, careful::identity(fitting.adapter));
            let proposed = proposed(turn, diagnosis, action, (target, params, undo, seen), principal)?;
            turn.run.due = None;
            turn.run.wait_until = None;
            reopen(turn);
            Ok(turn.take(Next::Go(Step::Proposed(Box::new(proposed))))?)
        })
    }

    /// Holds an incident, or lets it go: while it is held nothing is begun.
    ///
    /// # Errors
    /// [`NotDone`]; then nothing changed.
    pub fn hold(&self, incident: &Id, held: bool, principal: &str) -> Result<(), NotDone> {
        self.under(incident, None, |turn| {
            if turn.incident.is(IncidentFlag::Held) == held {
                return Err(NotDone::NotAvailable(
                    if held { "it is held already" } else { "it is not held" }.to_owned(),
                ));
            }
            if held && turn.incident.status() == Status::Closed {
                return Err(NotDone::NotAvailable(ended(turn)));
            }
            if held {
                turn.incident.flags.insert(IncidentFlag::Held);
            } else {
                turn.incident.flags.remove(&IncidentFlag::Held);
            }
            turn.note("held", &json!({ "held": held, "by": principal }));
            turn.run.due = turn.run.due.map(|due| due.min(turn.now()));
            Ok(turn.commit()?)
        })
    }

    /// Begins a handed-over incident anew: with a new budget, and with everything that was tried told.
    ///
    /// # Errors
    /// [`NotDone`]; then nothing changed.
    pub fn retry(&self, incident: &Id, principal: &str) -> Result<(), NotDone> {
        self.under(incident, None, |turn| {
            if turn.run.step.name() != StepName::Closed || turn.incident.condition == Condition::Cleared {
                return Err(NotDone::NotAvailable("only what was handed over and still fires is retried".to_owned()));
            }
            turn.note("retried", &json!({ "by": principal }));
            let fresh = Run::new(&turn.incident, turn.now());
            let began = turn.incident.attempts.iter().filter(|attempt| attempt.receipt_id.is_some()).count();
            let (revision, attempt) = (turn.run.revision, turn.run.attempt);
            turn.run = Run { revision, attempt, attempts_before: began, ..fresh };
            reopen(turn);
            Ok(turn.commit()?)
        })
    }

    /// Closes an incident, whatever fires; perhaps as a false alarm. One that is closed is not closed again; that it was a
    /// false alarm can still be said.
    ///
    /// # Errors
    /// [`NotDone`]; then nothing changed.
    pub fn close(&self, incident: &Id, principal: &str, reason: &str, false_alarm: bool) -> Result<(), NotDone> {
        let why = Text::<300>::of(reason);
        if why.is_empty() {
            return Err(NotDone::NoReason);
        }
        self.under(incident, None, |turn| {
            let said = json!({ "by": principal, "reason": why, "false_alarm": false_alarm });
            let new = false_alarm && !turn.incident.is(IncidentFlag::FalseAlarm);
            if turn.incident.status() == Status::Closed {
                if !new {
                    return Err(NotDone::NotAvailable(ended(turn)));
                }
                turn.incident.flags.insert(IncidentFlag::FalseAlarm);
                turn.note("false_alarm", &said);
                return Ok(turn.commit()?);
            }
            idle(turn)?;
            act::put_away(turn, "a person closed the incident")?;
            if new {
                turn.incident.flags.insert(IncidentFlag::FalseAlarm);
            }
            turn.note("closed_by_hand", &said);
            let outcome = turn.incident.outcome.unwrap_or(Outcome::Escalated);
            let closed = Closed { outcome, closed_by: Some(ClosedBy::Person), why: why.to_string() };
            Ok(turn.take(Next::Go(Step::Closed(closed)))?)
        })
    }

    /// Does something with a run as a worker would: under the lease of its application.
    pub(super) fn under(
        &self,
        incident: &Id,
        application: Option<&Application>,
        act: impl FnOnce(&mut Turn<'_>) -> Result<(), NotDone>,
    ) -> Result<(), NotDone> {
        let store = self.world.store;
        let known = store.incident(incident)?.ok_or(NotDone::Unknown)?;
        if application.is_some_and(|wanted| *wanted != known.application) {
            return Err(NotDone::OtherApplication);
        }
        let key = format!("application:{}", known.application);
        let lease = store
            .lease(&key, &self.owner, self.world.clock.now(), self.lease_of(&known.application)?)?
            .ok_or(NotDone::Busy)?;
        let done = match (store.run(incident)?, store.incident(incident)?) {
            (Some(run), Some(incident)) => act(&mut Turn::new(self.world, &self.owner, run, incident, lease.clone())),
            _ => Err(NotDone::Unknown),
        };
        store.release(&lease)?;
        done
    }
}

/// Nothing of it is under way.
pub(super) fn idle(turn: &Turn<'_>) -> Result<(), NotDone> {
    let acting = matches!(turn.run.step.name(), StepName::Applied | StepName::Undoing) || act::is_begun(turn)?;
    let unsettled = |state: ReceiptState| matches!(state, ReceiptState::Started | ReceiptState::Unknown);
    let receipts = turn.world.store.receipts_of(&turn.incident.id)?;
    if acting || receipts.iter().any(|receipt| unsettled(receipt.state)) { Err(NotDone::UnderWay) } else { Ok(()) }
}

/// That it is over, and how.
pub(super) fn ended(turn: &Turn<'_>) -> String {
    let outcome = turn.incident.outcome.and_then(|one| json!(one).as_str().map(str::to_owned)).unwrap_or_default();
    let by = turn.incident.closed_by.map_or(String::new(), |by| format!(" by {by}"));
    format!("it is closed already: {outcome}{by}")
}

/// An incident whose run had ended is on its way again.
pub(super) fn reopen(turn: &mut Turn<'_>) {
    (turn.incident.outcome, turn.incident.closed_by, turn.incident.closed) = (None, None, None);
}

fn proposed(
    turn: &Turn<'_>,
    diagnosis: Diagnosis,
    action: Action,
    (target, params, undo, seen): (sanare_core::service::TargetKey, Params, Undo, Identity),
    principal: &str,
) -> Result<Proposed, NotDone> {
    let why = diagnosis.summary.clone();
    let advice = Advice { action, rationale: why, expected_outcome: Text::of(action.guide().does) };
    let result = AgentResult { diagnosis, advice: Some(advice) };
    let proposal = match result.propose(turn.world.id("pro"), Some(target), params, undo) {
        Some(Ok(proposal)) => proposal,
        Some(Err(invalid)) => return Err(NotDone::NotAvailable(invalid.to_string())),
        None => return Err(NotDone::NotAvailable("nothing is proposed".to_owned())),
    };
    Ok(Proposed { diagnosis: result.diagnosis, proposal, seen, proposed_by: Some(principal.to_owned()) })
}
