//! Diagnosed to proposed: the proposers are asked in order, each told what was rejected before.

use sanare_core::outcome::Reason;
use sanare_core::port::Ask;
use sanare_core::step::{Diagnosed, Proposed, Step};

use crate::run::{Case, Progress, World};
use crate::stage::close;

/// Asks until one has a candidate, the attempts are spent, or nobody is left.
pub(crate) fn propose(
    mut diagnosed: Diagnosed,
    case: &Case<'_>,
    world: &mut World<'_>,
    progress: &mut Progress,
) -> Step {
    let rules = &case.incident.rules;
    while diagnosed.next_proposer < world.proposers.len() {
        if progress.attempts >= rules.attempts {
            return nobody(diagnosed, Some(Reason::GatesFailed));
        }
        let ask = Ask {
            evidence: case.evidence,
            function: &case.incident.function,
            rejections: &diagnosed.rejections,
            declined: &diagnosed.declined,
            time_left_ms: rules.deadline_ms.saturating_sub(world.clock.elapsed().saturating_sub(progress.started)),
        };
        let Some(proposer) = world.proposers.get_mut(diagnosed.next_proposer) else { break };
        match proposer.propose(&ask, world.subject) {
            Ok(candidate) => {
                progress.attempts += 1;
                progress.summary = candidate.summary.clone();
                return Step::Proposed(Proposed { diagnosed, candidate: *candidate, attempt: progress.attempts });
            }
            Err(declined) => {
                diagnosed.declined.push(declined);
                diagnosed.next_proposer += 1;
            }
        }
    }
    nobody(diagnosed, None)
}

/// Nobody has a candidate: the first refusal that says why is the incident's own.
fn nobody(diagnosed: Diagnosed, spent: Option<Reason>) -> Step {
    let rejected = diagnosed.rejections.last();
    let told = diagnosed.declined.iter().find(|declined| declined.reason != Reason::NoProposer);
    let (reason, detail) = match (rejected, told.or(diagnosed.declined.first())) {
        (Some(rejection), _) => {
            let reason = if rejection.check == "rerun" { Reason::RerunFailed } else { Reason::GatesFailed };
            (reason, format!("{}: {}", rejection.check, rejection.reason))
        }
        (None, Some(declined)) => (declined.reason, declined.summary.clone()),
        (None, None) => {
            let reason = spent.unwrap_or(Reason::NoProposer);
            (reason, reason.sentence().to_owned())
        }
    };
    match reason {
        Reason::RerunFailed => close::rolled_back(reason, detail, diagnosed.declined),
        _ => close::refused(reason, detail, diagnosed.declined),
    }
}
