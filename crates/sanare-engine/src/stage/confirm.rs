//! Applied to closed: the owner's call runs once more for real, if that is safe; only its return says healed.

use sanare_core::incident::Rerun;
use sanare_core::outcome::{Outcome, Reason};
use sanare_core::proposal::Rejection;
use sanare_core::step::{Applied, Closed, Step, Undoing};

use crate::run::{Case, Fault, Progress, World};

/// Runs the call again, or leaves the repair standing with the reason why not.
pub(crate) fn confirm(
    applied: Applied,
    case: &Case<'_>,
    world: &mut World<'_>,
    progress: &mut Progress,
) -> Result<Step, Fault> {
    let unsafe_because = match case.incident.rules.rerun {
        Rerun::Never => Some("rerun is never".to_owned()),
        Rerun::Always => None,
        Rerun::Safe => world.subject.rerun_unsafe()?,
    };
    if let Some(why) = unsafe_because {
        let standing = Some((Reason::RerunUnsafe, format!("repaired, not re-run: {why}")));
        return Ok(Step::Applied(Applied { standing, ..applied }));
    }
    world.subject.moment("before_rerun");
    progress.reran = true;
    let returned = world.subject.rerun()?;
    world.subject.moment("after_rerun");
    match returned {
        Ok(()) => Ok(Step::Closed(Closed {
            outcome: Outcome::Healed,
            reason: Reason::Ok,
            detail: progress.summary.join("; "),
            declined: applied.checked.proposed.diagnosed.declined.clone(),
        })),
        Err(failure) => {
            let detail = format!("{}: {}", failure.class, failure.message);
            let mut diagnosed = applied.checked.proposed.diagnosed.clone();
            let candidate = &applied.checked.proposed.candidate;
            diagnosed.rejections.push(Rejection {
                proposer: candidate.proposer,
                function: candidate.function.clone(),
                check: "rerun".to_owned(),
                reason: detail.clone(),
            });
            if candidate.proposer == sanare_core::incident::ProposerName::Drift {
                diagnosed.next_proposer += 1;
            }
            Ok(Step::Undoing(Undoing { applied, reason: Reason::RerunFailed, detail, next: Some(diagnosed) }))
        }
    }
}
