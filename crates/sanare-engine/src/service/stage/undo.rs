//! An act that made it worse is taken back, once, if the target is still what the act left (S112).

use sanare_core::outcome::Outcome;
use sanare_core::service::declaration::Undo;
use sanare_core::service::job::Job;
use sanare_core::service::port::Intent;
use sanare_core::service::receipt::{ActKey, Purpose};
use sanare_core::service::run::MessageKind;
use sanare_core::service::step::{Cause, Closed, Step, Undoing};
use sanare_core::service::word::{ClosedBy, Effect, ReceiptState, VerificationOutcome};
use sanare_core::service::{JobState, NotMade, Receipt, Text, WorldState};
use serde_json::json;

use super::act::{call, renew, settle};
use super::follow;
use super::verify::count;
use crate::service::LEASE_MS;
use crate::service::careful;
use crate::service::turn::{HOLD, Next, Turn, target_key};

/// Takes an act back under a receipt of its own.
pub(crate) fn undo(turn: &mut Turn<'_>, undoing: Undoing) -> Result<(), NotMade> {
    let store = turn.world.store;
    let Some(receipt) = store.service_receipt(&undoing.applied.receipt)? else {
        return failed(turn, undoing, None, "the receipt is not in the store");
    };
    if let Some(id) = &undoing.undo {
        // A worker died here: only the world can say what became of it, and there is no second undo.
        let left = store.service_receipt(id)?;
        return match left {
            Some(left) if left.state == ReceiptState::Started => recover(turn, undoing, &receipt, left),
            _ => failed(turn, undoing, Some(&receipt), "the undo was not carried out"),
        };
    }
    if turn.world.house.stopped(&turn.incident.application) {
        return failed(turn, undoing, Some(&receipt), "the stop switch is set");
    }
    let Ok(fitting) = turn.world.house.resolved(&receipt) else {
        return failed(turn, undoing, Some(&receipt), "the target is not available");
    };
    let cancels = receipt.undo == Undo::CancelJob;
    if cancels {
        let Some(job) = undoing.applied.job.clone() else {
            return failed(turn, undoing, Some(&receipt), "its job has ended: there is nothing to cancel");
        };
        if follow::asked(turn, &receipt, &job) != JobState::Running {
            return not_cancelled(turn, undoing, "it was not seen to run");
        }
    } else if careful::state(fitting.adapter, &receipt) != WorldState::After {
        return failed(turn, undoing, Some(&receipt), "the target is not what the act left");
    }
    let millis = LEASE_MS + fitting.adapter.declaration().timeout_ms;
    let Some(lease) = store.lease(&target_key(&receipt.target), turn.owner, turn.world.clock.now(), millis)? else {
        return turn.take(Next::Hold(HOLD));
    };
    let now = turn.now();
    let undo = Receipt {
        id: turn.world.id("rct"),
        key: ActKey { purpose: Purpose::Undo, ..receipt.key.clone() },
        fence: lease.fence,
        before: careful::identity(fitting.adapter),
        intended: receipt.before.clone(),
        deadline: now.plus(fitting.adapter.declaration().timeout_ms * 1_000),
        state: ReceiptState::Started,
        effect: None,
        reference: undoing.applied.job.as_ref().filter(|_| cancels).map(|job| {
            // Where a job has no name its run is found by the receipt.
            job.id.clone().unwrap_or_else(|| Text::of(receipt.id.as_str()))
        }),
        intended_at: now,
        started_at: Some(now),
        ended_at: None,
        ..receipt.clone()
    };
    turn.change.under.push(lease);
    renew(turn, &undo)?;
    let id = undo.id.clone();
    turn.change.receipts.push((undo.clone(), None));
    turn.note("started", &json!({ "receipt": id, "undo_of": receipt.id, "fence": undo.fence }));
    let undoing = Undoing { undo: Some(id), ..undoing };
    turn.run.step = Step::Undoing(Box::new(undoing.clone()));
    let begun = turn.world.clock.elapsed();
    turn.commit()?;
    let intent = Intent::of(&undo, fitting.adapter.declaration().timeout_ms);
    let acted = call(turn, fitting.adapter, &intent, begun);
    if cancels {
        turn.note("effect", &json!({ "receipt": undo.id, "reported": acted.effect, "output": acted.output }));
        return match acted.effect {
            // That it is asked to end is not its end: the job alone says so.
            Effect::Done | Effect::Unknown => turn.take(Next::Hold(1)),
            Effect::Refused | Effect::NotStarted => {
                let why = format!("cancelling it was {}", acted.effect);
                turn.change.receipts.push((ended(turn, undo, acted.effect), Some(ReceiptState::Started)));
                not_cancelled(turn, undoing, &why)
            }
        };
    }
    let effect = match acted.effect {
        Effect::Unknown if careful::state(fitting.adapter, &undo) == WorldState::After => Effect::Done,
        other => other,
    };
    took(turn, undoing, &receipt, undo, effect)
}

/// A receipt as this effect leaves it.
fn ended(turn: &Turn<'_>, receipt: Receipt, effect: Effect) -> Receipt {
    Receipt { state: ReceiptState::after(effect), effect: Some(effect), ended_at: Some(turn.now()), ..receipt }
}

/// The job is followed as before, and whoever asked sees why.
fn not_cancelled(turn: &mut Turn<'_>, undoing: Undoing, why: &str) -> Result<(), NotMade> {
    turn.note("not_cancelled", &json!({ "receipt": undoing.applied.receipt, "why": why }));
    turn.run.step = Step::Applied(Box::new(undoing.applied));
    turn.take(Next::Hold(1))
}

/// A job was asked to end, or a worker died at it: only the job can say what came of that, and it is not asked again.
fn cancelling(
    turn: &mut Turn<'_>,
    undoing: Undoing,
    receipt: &Receipt,
    undo: Receipt,
    job: &Job,
) -> Result<(), NotMade> {
    let state = follow::asked(turn, receipt, job);
    let over = turn.now() >= job.until;
    match state {
        JobState::Failed(word) => {
            turn.note("job", &json!({ "receipt": receipt.id, "job": job.id, "state": word }));
            turn.run.end_wait(turn.now());
            took(turn, undoing, receipt, undo, Effect::Done)
        }
        JobState::Done { .. } => {
            turn.change.receipts.push((ended(turn, undo, Effect::Refused), Some(ReceiptState::Started)));
            not_cancelled(turn, undoing, "it had ended before that")
        }
        _ if over => {
            turn.run.end_wait(turn.now());
            took(turn, undoing, receipt, undo, Effect::Unknown)
        }
        _ => turn.take(Next::Hold(job.every)),
    }
}

fn recover(turn: &mut Turn<'_>, undoing: Undoing, receipt: &Receipt, undo: Receipt) -> Result<(), NotMade> {
    if let Some(job) = undoing.applied.job.clone().filter(|_| receipt.undo == Undo::CancelJob) {
        return cancelling(turn, undoing, receipt, undo, &job);
    }
    let fitting = turn.world.house.resolved(receipt);
    let state = fitting.map_or(WorldState::CannotTell, |fitting| careful::state(fitting.adapter, &undo));
    turn.note("recovered", &json!({ "receipt": undo.id, "world": state }));
    let effect = if state == WorldState::After { Effect::Done } else { Effect::Unknown };
    took(turn, undoing, receipt, undo, effect)
}

fn took(
    turn: &mut Turn<'_>,
    undoing: Undoing,
    receipt: &Receipt,
    undo: Receipt,
    effect: Effect,
) -> Result<(), NotMade> {
    let settled = ended(turn, undo, effect);
    turn.note("effect", &json!({ "receipt": settled.id, "effect": effect }));
    turn.change.receipts.push((settled, Some(ReceiptState::Started)));
    if effect != Effect::Done {
        return failed(turn, undoing, Some(receipt), &format!("taking it back was {effect}"));
    }
    let undone = Receipt { state: ReceiptState::Undone, ..receipt.clone() };
    // A job that was cancelled was still under way, and its receipt started.
    turn.change.receipts.push((undone, Some(receipt.state)));
    counted(turn, &undoing, receipt);
    let mut body = turn.shown(&undoing.applied.checked.proposed);
    body["rolled_back"] = json!(undoing.why);
    turn.tell(MessageKind::RolledBack, &body);
    let why = match undoing.by {
        Some(_) => undoing.why.clone(),
        None => format!("{}; it was taken back", undoing.why),
    };
    let closed_by = match undoing.by {
        Some(_) => Some(ClosedBy::Person),
        None => Some(ClosedBy::Action).filter(|_| turn.incident.condition == sanare_core::service::Condition::Cleared),
    };
    turn.take(Next::Go(Step::Closed(Closed { outcome: Outcome::RolledBack, closed_by, why })))
}

/// What came of the act that is taken back. A person's word is no measurement, and what was measured before stands.
fn counted(turn: &mut Turn<'_>, undoing: &Undoing, receipt: &Receipt) {
    let outcome = if undoing.by.is_some() { VerificationOutcome::NotVerified } else { VerificationOutcome::Worse };
    let known = |one: &sanare_core::service::Attempt| one.receipt_id.as_ref() == Some(&receipt.id);
    if undoing.by.is_none() || !turn.incident.attempts.iter().any(known) {
        count(turn, &undoing.applied, receipt, outcome, &undoing.why);
    }
}

/// There is no second undo: a person is told, as of something critical.
fn failed(turn: &mut Turn<'_>, undoing: Undoing, receipt: Option<&Receipt>, why: &str) -> Result<(), NotMade> {
    if let Some(receipt) = receipt {
        counted(turn, &undoing, receipt);
        if receipt.state == ReceiptState::Started {
            // Its job may go on: nothing is asked of the same target before a person has looked.
            settle(turn, receipt.clone(), Effect::Unknown);
        }
    }
    let next = turn.escalate(Cause::UndoFailed, format!("{}; {why}", undoing.why));
    turn.take(next)
}
