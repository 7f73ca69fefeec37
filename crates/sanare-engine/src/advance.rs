//! The loop, one line a stage, in running order.

use sanare_core::step::{Closed, Step};

use crate::run::{Case, Fault, Progress, World};
use crate::stage::{apply, approve, check, close, confirm, diagnose, gather, judge, prepare, propose, undo};

/// The next step after this one.
pub(crate) fn advance(
    step: Step,
    case: &Case<'_>,
    world: &mut World<'_>,
    progress: &mut Progress,
) -> Result<Step, Fault> {
    let step = match close::when_abandoned(step, world, progress) {
        Ok(instead) => return Ok(instead),
        Err(step) => step,
    };
    if let Some(closed) = close::when_out_of_time(&step, case, world, progress) {
        return Ok(Step::Closed(closed));
    }
    match step {
        Step::Opened => Ok(gather::gather()),
        Step::Evident => Ok(diagnose::diagnose(case, world)),
        Step::Diagnosed(diagnosed) => Ok(propose::propose(diagnosed, case, world, progress)),
        Step::Proposed(proposed) => Ok(judge::judge(proposed, case, world)),
        Step::Judged(judged) => check::check(judged, case, world, progress),
        Step::Checked(checked) => Ok(approve::approve(checked, case, world, progress)),
        Step::Approved(approved) => prepare::prepare(approved, case, world, progress),
        Step::Prepared(prepared) => apply::apply(prepared, case, world, progress),
        Step::Applied(applied) => confirm::confirm(applied, case, world, progress),
        Step::Undoing(undoing) => undo::undo(undoing, world, progress),
        Step::Escalating(escalating) => Ok(close::escalate(escalating)),
        Step::Waiting(_) | Step::Closed(_) => Ok(Step::Closed(Closed {
            outcome: sanare_core::outcome::Outcome::Escalated,
            reason: sanare_core::outcome::Reason::Internal,
            detail: "a step that rests was asked to go on".to_owned(),
            declined: Vec::new(),
        })),
    }
}
