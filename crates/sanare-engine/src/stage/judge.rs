//! Proposed to judged: policy is asked first, and what it refuses goes no further.

use sanare_core::outcome::Reason;
use sanare_core::policy::{Situation, Verdict, judge as decide};
use sanare_core::step::{Judged, Proposed, Step};

use crate::run::{Case, World};
use crate::stage::close;

/// The situation that policy judges.
pub(crate) fn situation<'a>(proposed: &Proposed, case: &'a Case<'_>, world: &World<'_>) -> Situation<'a> {
    Situation {
        rules: &case.incident.rules,
        proposer: proposed.candidate.proposer,
        tier: proposed.candidate.tier,
        stopped: world.target.stopped(),
        declined: proposed
            .diagnosed
            .declined
            .iter()
            .flat_map(|one| one.against(&proposed.candidate.function))
            .collect(),
    }
}

/// Refuses at once, or goes on to the gates.
pub(crate) fn judge(proposed: Proposed, case: &Case<'_>, world: &World<'_>) -> Step {
    let decision = decide(&situation(&proposed, case, world));
    if decision.verdict == Verdict::Refuse {
        let detail = format!("policy refuses: {}", decision.rules.join(", "));
        return close::refused(Reason::Policy, detail, proposed.diagnosed.declined);
    }
    Step::Judged(Judged { proposed, decision })
}
