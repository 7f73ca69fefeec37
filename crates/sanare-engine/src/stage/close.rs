//! Endings.

use sanare_core::outcome::{Outcome, Reason};
use sanare_core::proposal::Declined;
use sanare_core::step::{Closed, Escalating, Step, Undoing};

use crate::run::{Case, Progress, World};

/// Refused, with the reason.
pub(crate) fn refused(reason: Reason, detail: String, declined: Vec<Declined>) -> Step {
    Step::Closed(Closed { outcome: Outcome::Refused, reason, detail, declined })
}

/// Taken back, with the reason.
pub(crate) fn rolled_back(reason: Reason, detail: String, declined: Vec<Declined>) -> Step {
    Step::Closed(Closed { outcome: Outcome::RolledBack, reason, detail, declined })
}

/// Handed to a person, with the reason.
pub(crate) fn escalated(reason: Reason, detail: String) -> Step {
    Step::Escalating(Escalating { reason, detail })
}

/// Escalating to closed. What a person is sent is rendered from the ledger, where all of it already is.
pub(crate) fn escalate(escalating: Escalating) -> Step {
    let Escalating { reason, detail } = escalating;
    Step::Closed(Closed { outcome: Outcome::Escalated, reason, detail, declined: Vec::new() })
}

/// Closes an incident whose deadline has passed, unless its repair is already in force or being taken back.
pub(crate) fn when_out_of_time(step: &Step, case: &Case<'_>, world: &World<'_>, progress: &Progress) -> Option<Closed> {
    let in_force = matches!(step, Step::Applied(_) | Step::Undoing(_) | Step::Escalating(_) | Step::Closed(_));
    let spent = world.clock.elapsed().saturating_sub(progress.started);
    if in_force || spent <= case.incident.rules.deadline_ms {
        return None;
    }
    let detail = format!("{} ms passed, {} were allowed", spent, case.incident.rules.deadline_ms);
    Some(Closed { outcome: Outcome::Refused, reason: Reason::Deadline, detail, declined: Vec::new() })
}

/// Ends an incident whose caller does not wait any more (C114): what is in force is taken back, and nothing else begins.
///
/// # Errors
/// The step itself, when it goes on as it is.
pub(crate) fn when_abandoned(step: Step, world: &mut World<'_>, progress: &Progress) -> Result<Step, Step> {
    if matches!(step, Step::Escalating(_) | Step::Closed(_) | Step::Waiting(_)) || !world.subject.abandoned() {
        return Err(step);
    }
    let detail = "the call was cancelled".to_owned();
    match (step, progress.applied.clone()) {
        (Step::Undoing(undoing), _) => Err(Step::Undoing(Undoing { next: None, ..undoing })),
        (_, Some(applied)) => Ok(Step::Undoing(Undoing { applied, reason: Reason::Deadline, detail, next: None })),
        (_, None) => Ok(refused(Reason::Deadline, detail, Vec::new())),
    }
}
