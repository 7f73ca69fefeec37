//! Whether the act has helped: watched until it is decided (S110 to S112).

use sanare_core::outcome::Outcome;
use sanare_core::service::confidence::Measured;
use sanare_core::service::limits::PastAct;
use sanare_core::service::moment::{MINUTE, Moment};
use sanare_core::service::step::{Applied, Cause, Closed, Step, Undoing};
use sanare_core::service::verification::{Asked, Look, Plan, Progress, look, target_changed};
use sanare_core::service::word::{ClosedBy, Condition, Effect, Origin, VerificationOutcome};
use sanare_core::service::{Identity, NotMade, Receipt};
use serde_json::json;

use super::follow::follow;
use super::gather::gather;
use crate::service::careful;
use crate::service::offer::figure_key;
use crate::service::turn::{Next, Turn};

/// What lies between two looks.
const LOOK: u64 = MINUTE / 4;
/// What guards are compared with.
const BEFORE: u64 = 30 * MINUTE;

/// One look at an act that was done.
pub(crate) fn verify(turn: &mut Turn<'_>, mut applied: Applied) -> Result<Next, NotMade> {
    let Some(receipt) = turn.world.store.service_receipt(&applied.receipt)? else {
        return Ok(turn.escalate(Cause::Internal, "the receipt is not in the store"));
    };
    if let Some(job) = applied.job.clone() {
        return follow(turn, applied, receipt, job);
    }
    let Some(plan) = Plan::of(receipt.key.action) else {
        let why = "it was accepted; what comes of it is for a person to see";
        return ended(turn, applied, &receipt, VerificationOutcome::NotVerified, why);
    };
    let now = turn.now();
    let (identity, reversible) = asked(turn, &mut applied, &receipt, now);
    let watched = turn.world.house.watched(&turn.incident, applied.acted_at.minus(BEFORE), applied.acted_at);
    let (kind, action) = (turn.incident.kind, receipt.key.action);
    let changed = target_changed(kind, action, &receipt.params, &receipt.before, &identity);
    let seen = Look {
        plan,
        acted_at: applied.acted_at,
        extended: applied.extended,
        signals: &watched.signals,
        probe: (!applied.asked.is_empty()).then_some(applied.asked.as_slice()),
        guards: &watched.guards,
        changed,
    };
    match look(&seen, now) {
        Progress::GoOn => {
            turn.run.step = Step::Applied(Box::new(applied));
            Ok(Next::Hold(LOOK))
        }
        Progress::Extend => {
            applied.extended = true;
            turn.note("extended", &json!({ "receipt": receipt.id }));
            turn.run.step = Step::Applied(Box::new(applied));
            Ok(Next::Hold(LOOK))
        }
        Progress::Ended(VerificationOutcome::Worse, why) if reversible => {
            Ok(Next::Go(Step::Undoing(Box::new(Undoing { applied, undo: None, why, by: None }))))
        }
        Progress::Ended(outcome, why) => ended(turn, applied, &receipt, outcome, &why),
    }
}

/// Asks probe and target, and keeps what the probe said.
fn asked(turn: &Turn<'_>, applied: &mut Applied, receipt: &Receipt, now: Moment) -> (Identity, bool) {
    // A rollback that arrived has nothing to go back to, and its target is still the same.
    let Ok(fitting) = turn.world.house.resolved(receipt) else { return (Identity::default(), false) };
    let mut identity = careful::identity(fitting.adapter);
    if let Some(probe) = fitting.probe {
        let answered = careful::ask(probe);
        applied.asked.push(Asked { at: now, health: answered.health });
        // What answers is told by the probe, where the two differ.
        identity = answered.identity.marks().fold(identity, |identity, (mark, value)| identity.with(mark, value));
    }
    (identity, fitting.adapter.declaration().reversible)
}

/// Takes the outcome into attempt, limits and figures, and goes on from there.
fn ended(
    turn: &mut Turn<'_>,
    applied: Applied,
    receipt: &Receipt,
    outcome: VerificationOutcome,
    why: &str,
) -> Result<Next, NotMade> {
    count(turn, &applied, receipt, outcome, why);
    Ok(match outcome {
        VerificationOutcome::Recovered => healed(turn, Some(ClosedBy::Action), why),
        // It cleared all the same: healed, but not by us.
        VerificationOutcome::NotVerified if turn.incident.condition == Condition::Cleared => {
            healed(turn, Some(ClosedBy::Itself), why)
        }
        VerificationOutcome::NotVerified => turn.escalate(Cause::NotVerified, why),
        VerificationOutcome::Worse => turn.escalate(Cause::Worse, format!("{why}, and it cannot be taken back")),
        VerificationOutcome::NotRecovered | VerificationOutcome::Inconclusive => gather(turn)?,
    })
}

fn healed(turn: &mut Turn<'_>, closed_by: Option<ClosedBy>, why: &str) -> Next {
    turn.incident.condition = Condition::Cleared;
    turn.incident.cleared.get_or_insert(turn.world.now());
    Next::Go(Step::Closed(Closed { outcome: Outcome::Healed, closed_by, why: why.to_owned() }))
}

/// What came of an act, for the incident, the limits and the figures.
pub(crate) fn count(
    turn: &mut Turn<'_>,
    applied: &Applied,
    receipt: &Receipt,
    outcome: VerificationOutcome,
    why: &str,
) {
    let (now, proposed) = (turn.now(), &applied.checked.proposed);
    let action = receipt.key.action;
    turn.note("verified", &json!({ "receipt": receipt.id, "outcome": outcome, "why": why }));
    if proposed.diagnosis.origin != Origin::Person && proposed.proposed_by.is_none() {
        let measured = Measured { key: figure_key(turn, proposed), outcome, at: now };
        turn.change.measured.push((receipt.id.clone(), measured));
    }
    let failed = !matches!(outcome, VerificationOutcome::Recovered | VerificationOutcome::NotVerified);
    turn.change.acts.push(PastAct {
        at: receipt.started_at.unwrap_or(now),
        receipt: receipt.id.clone(),
        application: receipt.application.clone(),
        target: receipt.target.clone(),
        action,
        failed,
    });
    turn.attempted(action, outcome, why, Some((receipt.id.clone(), Effect::Done)), None, now);
}
