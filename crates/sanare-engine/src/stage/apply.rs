//! Prepared to applied: the file, then the running function.

use sanare_core::incident::Write;
use sanare_core::outcome::Reason;
use sanare_core::port::{StoreFault, TargetFault};
use sanare_core::step::{Applied, Prepared, Step, Undoing};

use crate::run::{Case, Fault, Progress, World};
use crate::stage::{close, prepare};

/// Writes and swaps. A write that fails has changed nothing.
pub(crate) fn apply(
    prepared: Prepared,
    case: &Case<'_>,
    world: &mut World<'_>,
    progress: &mut Progress,
) -> Result<Step, Fault> {
    let checked = prepared.approved.inner().clone();
    let in_file = case.incident.rules.write == Write::File;
    if in_file && let Some(receipt) = &progress.receipt {
        world.subject.moment("before_write");
        // The record before this one was written under the lease, but since then this process may have stood still.
        if let Some(lease) = case.lease
            && !world.store.holds(lease, world.clock.now())?
        {
            return Err(StoreFault::LeaseLost.into());
        }
        match world.target.write(receipt) {
            Ok(()) => {}
            Err(TargetFault::Changed) => return Ok(prepare::place_anew(&checked, case, world, progress)),
            Err(fault) => return Ok(not_written(&fault, checked.proposed.diagnosed.declined)),
        }
        progress.written = true;
        world.subject.moment("after_write");
    }
    let applied = Applied { checked, in_file, standing: None };
    progress.applied = Some(applied.clone());
    world.subject.moment("before_swap");
    if let Some(why) = world.subject.swap(&applied.checked.module)? {
        if in_file {
            let standing = Some((
                Reason::Unconfirmed,
                format!("repaired in the file; the running function keeps its old code: {why}"),
            ));
            return Ok(Step::Applied(Applied { standing, ..applied }));
        }
        let detail = format!("the running function could not be changed: {why}");
        return Ok(Step::Undoing(Undoing { applied, reason: Reason::UnsupportedTarget, detail, next: None }));
    }
    progress.swapped = true;
    world.subject.moment("after_swap");
    Ok(Step::Applied(applied))
}

fn not_written(fault: &TargetFault, declined: Vec<sanare_core::proposal::Declined>) -> Step {
    let reason = match fault {
        TargetFault::Changed => Reason::SourceChanged,
        TargetFault::DiskFull => Reason::DiskFull,
        TargetFault::NotWritable(_) => Reason::Permission,
        TargetFault::Other(_) => Reason::Internal,
    };
    close::refused(reason, fault.to_string(), declined)
}
