//! Evidence is frozen in a snapshot: whatever follows carries its digest (S55, S57).

use sanare_core::service::attempt::{WAIT, application_attempts};
use sanare_core::service::context::{Context, Parts, RECENT};
use sanare_core::service::moment::HOUR;
use sanare_core::service::step::{Cause, Step};
use sanare_core::service::{Action, IncidentFlag, IncidentKind, NotMade};
use serde_json::json;

use super::act::put_away;
use crate::service::offer::{House, offered, withheld};
use crate::service::turn::{Next, Turn};

/// Active time of a run; waiting for people is not counted.
const ACTIVE: u64 = 4 * HOUR;
/// Diagnoses of a run: approvals that are voided and gates that fail lead to another, but not for ever.
pub(crate) const ROUNDS: u32 = 12;

/// Begins a round with fresh evidence, unless a budget is spent: then nobody is asked to diagnose again.
pub(crate) fn gather(turn: &mut Turn<'_>) -> Result<Next, NotMade> {
    turn.run.target = None;
    turn.run.held_for_target = false;
    if turn.incident.kind == IncidentKind::CodeException {
        return Ok(turn.escalate(Cause::Proposed, "code healing has it: see its own record"));
    }
    // What was healed falls ill again and again: one more attempt of the same is no remedy (S51).
    if turn.incident.is(IncidentFlag::Flapping) && application_attempts(&turn.incident.attempts) > 0 {
        return Ok(turn.escalate(Cause::Budget, "it heals and falls ill again"));
    }
    let attempts = application_attempts(&turn.incident.attempts).saturating_sub(turn.run.attempts_before);
    let most = House::of(turn).numbers.attempts as usize;
    if attempts > 0 && attempts >= most {
        return Ok(turn.escalate(Cause::Budget, format!("{attempts} attempts were made, {most} are allowed")));
    }
    if turn.run.active(turn.now()) >= ACTIVE {
        return Ok(turn.escalate(Cause::Budget, "4 hours of active time are over"));
    }
    if turn.run.rounds >= ROUNDS {
        return Ok(turn.escalate(Cause::Budget, format!("it was diagnosed {ROUNDS} times")));
    }
    turn.run.rounds += 1;
    let context = frozen(turn)?;
    let snapshot = context.digest();
    turn.change.snapshots.push(context);
    let withheld = withheld(turn);
    Ok(Next::Go(Step::Evident { snapshot, withheld }))
}

/// Begins, unless what others did is still awaited: what wakes the run meanwhile does not shorten that.
pub(crate) fn open(turn: &mut Turn<'_>) -> Result<Next, NotMade> {
    let now = turn.now();
    if let Some(until) = turn.run.wait_until.filter(|until| now < *until) {
        return Ok(Next::Hold(until.since(now)));
    }
    turn.run.wait_until = None;
    gather(turn)
}

/// Somebody else has just done what this was about. What comes of theirs is awaited, and then all of it looked at anew:
/// nothing is done on top of it (S114).
pub(crate) fn after_others(turn: &mut Turn<'_>, action: Action, why: &str) -> Result<Next, NotMade> {
    put_away(turn, why)?;
    turn.note("changed_by_others", &json!({ "from": turn.run.step.name(), "action": action, "why": why }));
    turn.run.step = Step::Opened;
    (turn.run.target, turn.run.held_for_target) = (None, false);
    turn.run.wait_until = Some(turn.now().plus(WAIT));
    Ok(Next::Hold(WAIT))
}

fn frozen(turn: &Turn<'_>) -> Result<Context, NotMade> {
    let (incident, world) = (&turn.incident, turn.world);
    let ids: Vec<_> = incident.evidence.iter().map(|evidence| evidence.observation.clone()).collect();
    let mut evidence = world.store.observations(&ids)?;
    // What a check has just said is stored with this very step.
    evidence.extend(turn.change.observations.iter().filter(|seen| ids.contains(&seen.id)).cloned());
    let mut recent = world.store.recent(&incident.application, RECENT)?;
    recent.retain(|seen| !ids.contains(&seen.id));
    let parts = Parts {
        evidence,
        available_actions: offered(turn),
        recent_observations: recent,
        diagnostics: turn.run.diagnostics.clone(),
        version_history: world.house.versions(incident),
        registry: world.house.registry(incident),
        at: turn.now(),
        incident: incident.clone(),
    };
    // Escalating is always offered, and the store gives back readings of the application alone.
    Context::new(parts).map_err(|invalid| NotMade::Store(sanare_core::port::StoreFault::Corrupt(invalid.to_string())))
}
