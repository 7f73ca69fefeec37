//! The loop, one line a stage, in running order.

use sanare_core::service::step::Step;
use sanare_core::service::word::{Condition, IncidentFlag, StepName};
use sanare_core::service::{IncidentKind, NotMade};
use serde_json::json;

use super::stage::{act, approve, check, diagnose, gather, judge, prepare, propose, tell, undo, verify, wait};
use super::turn::{HOLD, Next, Turn};

/// Advances a run by one step, and stores it.
pub(crate) fn advance(turn: &mut Turn<'_>) -> Result<(), NotMade> {
    if let Some(next) = before_the_step(turn)? {
        return turn.take(next);
    }
    let next = match turn.run.step.clone() {
        Step::Opened => gather::open(turn)?,
        Step::Evident { snapshot, .. } => diagnose::diagnose(turn, &snapshot)?,
        Step::Diagnosed(diagnosed) => propose::propose(turn, &diagnosed)?,
        Step::Proposed(proposed) => judge::judge(turn, *proposed)?,
        Step::Judged(judged) => check::check(turn, *judged)?,
        Step::Checked(checked) => approve::approve(turn, checked)?,
        Step::Waiting(checked, approval) => wait::wait(turn, checked, approval)?,
        Step::Approved(checked, approval) => prepare::prepare(turn, checked, approval)?,
        Step::Prepared(checked, receipt) => return act::act(turn, *checked, &receipt),
        Step::Applied(applied) => verify::verify(turn, *applied)?,
        Step::Undoing(undoing) => return undo::undo(turn, *undoing),
        Step::Escalating(escalating) => tell::tell(turn, &escalating),
        // What has ended is never due; should it be, it rests.
        Step::Closed(_) => {
            turn.run.due = None;
            return turn.commit();
        }
    };
    turn.take(next)
}

/// What holds for every step before an act: a symptom that cleared ends the run, and a hand that holds it is obeyed.
fn before_the_step(turn: &mut Turn<'_>) -> Result<Option<Next>, NotMade> {
    if !turn.run.step.is_before_act() || act::is_begun(turn)? {
        return Ok(None);
    }
    if turn.incident.condition == Condition::Cleared {
        act::put_away(turn, "the symptom cleared")?;
        return Ok(Some(Next::Go(Turn::healed_by_itself())));
    }
    if turn.incident.is(IncidentFlag::Held) {
        return Ok(Some(Next::Hold(HOLD)));
    }
    let Some(why) = quieted(turn) else { return Ok(None) };
    // It begins with fresh evidence once it goes on: what was looked at and asked is put away.
    if turn.run.step != Step::Opened {
        act::put_away(turn, why)?;
        turn.note("put_back", &json!({ "from": turn.run.step.name(), "why": why }));
        turn.run.step = Step::Opened;
        (turn.run.target, turn.run.wait_until) = (None, None);
    }
    Ok(Some(Next::Hold(HOLD)))
}

/// Why nothing is begun on an incident, where it is neither a person's hand nor the stop switch (S49, S50, S52).
fn quieted(turn: &Turn<'_>) -> Option<&'static str> {
    let (incident, step) = (&turn.incident, turn.run.step.name());
    // What a receipt is written for is not cut by a silence.
    let early = step < StepName::Prepared;
    match incident.kind {
        _ if early && incident.is(IncidentFlag::Silenced) => Some("it is silenced"),
        _ if early && incident.inhibited_by.is_some() => Some("another incident explains it"),
        // The storm itself is what a person is told of.
        IncidentKind::Storm => None,
        _ => turn.world.house.in_storm(&incident.application).then_some("too many services are ill at once"),
    }
}
