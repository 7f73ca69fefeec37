//! Proposed to judged: policy is asked first, and what it refuses goes no further.

use sanare_core::incident::{Incident, Mode, ProposerName};
use sanare_core::outcome::Reason;
use sanare_core::policy::{Facts, Policy, Situation, Verdict, judge as decide};
use sanare_core::proposal::Tier;
use sanare_core::step::{Judged, Proposed, Step};

use crate::run::{Case, World};
use crate::stage::close;

/// The situation that policy judges; the size of the change is known once the candidate is in its place.
pub(crate) fn situation<'a>(
    proposed: &Proposed,
    case: &'a Case<'_>,
    world: &World<'_>,
    diff: Option<&str>,
) -> Situation<'a> {
    let incident = case.incident;
    let candidate = &proposed.candidate;
    let mut facts = facts(case.policy, incident, &case.class, candidate.proposer, candidate.tier, world.clock.now());
    facts.numbers.extend(diff.map(|diff| ("changed_lines", changed_lines(diff))));
    Situation {
        rules: &incident.rules,
        proposer: candidate.proposer,
        tier: candidate.tier,
        stopped: world.target.stopped(),
        policy: case.policy,
        facts,
        declined: proposed.diagnosed.declined.iter().map(|declined| declined.reason).collect(),
    }
}

/// What rules of the policy file are matched against, for a candidate of an incident.
pub fn facts(policy: &Policy, incident: &Incident, class: &str, proposer: ProposerName, tier: Tier, now: u64) -> Facts {
    let mut facts = Facts { now, offsets: policy.offsets.clone(), ..Facts::default() };
    let proposer = match proposer {
        ProposerName::Drift => "drift",
        ProposerName::Model => "model",
    };
    let mode = match incident.rules.mode {
        Mode::Auto => "auto",
        Mode::Ask => "ask",
        Mode::DryRun => "dry_run",
        Mode::Observe | Mode::Off => "observe",
    };
    for (name, word) in [
        ("application", incident.project.as_str()),
        ("kind", class),
        ("path", &incident.path),
        ("function", &incident.function),
        ("proposer", proposer),
        ("tier", &format!("{tier:?}")),
        ("environment", &policy.environment),
        ("mode", mode),
    ] {
        facts.words.insert(name, vec![word.to_owned()]);
    }
    facts
}

/// Lines that a unified diff takes away or adds.
pub fn changed_lines(diff: &str) -> f64 {
    let mut lines = 0_u32;
    for line in diff.lines().skip_while(|line| !line.starts_with("@@")) {
        lines += u32::from(line.starts_with('+') || line.starts_with('-'));
    }
    f64::from(lines)
}

/// Refuses at once, or goes on to the gates.
pub(crate) fn judge(proposed: Proposed, case: &Case<'_>, world: &World<'_>) -> Step {
    let decision = decide(&situation(&proposed, case, world, None));
    if decision.verdict == Verdict::Refuse {
        let detail = format!("policy refuses: {}", decision.because());
        return close::refused(Reason::Policy, detail, proposed.diagnosed.declined);
    }
    Step::Judged(Judged { proposed, decision })
}
