//! Policy: whether a repair is applied, asked for, or refused. The strictest rule that matches wins (C96).

use serde::{Deserialize, Serialize};

use crate::approval::{Approved, Approver};
use crate::gate::{Answer, Gate, GateReport};
use crate::incident::{Mode, ProposerName, Rules};
use crate::outcome::Reason;
use crate::proposal::Tier;
use crate::step::Checked;

/// What policy says; ordered, the strictest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Go on.
    Permit,
    /// Ask a person.
    Ask,
    /// Do not.
    Refuse,
}

/// A verdict with the rules that led to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The strictest verdict of all rules that matched.
    pub verdict: Verdict,
    /// Ids of the rules that gave it.
    pub rules: Vec<String>,
}

impl Decision {
    fn strictest(matched: Vec<(Verdict, &str)>) -> Self {
        let verdict = matched.iter().map(|(verdict, _)| *verdict).max().unwrap_or(Verdict::Permit);
        let rules = matched.iter().filter(|(found, _)| *found == verdict).map(|(_, id)| (*id).to_owned()).collect();
        Self { verdict, rules }
    }
}

/// What is judged before any gate runs.
#[derive(Clone, Debug)]
pub struct Situation<'a> {
    /// The incident's rules.
    pub rules: &'a Rules,
    /// Who proposes.
    pub proposer: ProposerName,
    /// Tier of the candidate.
    pub tier: Tier,
    /// Whether an owner's stop switch is set.
    pub stopped: bool,
    /// Reasons with which other proposers declined before.
    pub declined: Vec<Reason>,
}

/// What the offline engine says of the data, and what no model overrules (C70).
const NOT_OVERRULED: [Reason; 5] =
    [Reason::Vetoed, Reason::ScaleOrUnit, Reason::IncompleteData, Reason::MissingField, Reason::Ambiguous];

/// The first question: may this be gone on with at all?
pub fn judge(situation: &Situation<'_>) -> Decision {
    let mut matched = vec![(Verdict::Permit, "default")];
    if situation.stopped {
        matched.push((Verdict::Refuse, "stop_switch"));
    }
    match situation.rules.mode {
        Mode::Observe | Mode::Off => matched.push((Verdict::Refuse, "mode_observe")),
        Mode::Ask => matched.push((Verdict::Ask, "mode_ask")),
        Mode::Auto | Mode::DryRun => {}
    }
    let automatic = situation.rules.automatic_tiers.iter().any(|tier| *tier == format!("{:?}", situation.tier));
    if situation.proposer == ProposerName::Drift && !automatic {
        matched.push((Verdict::Ask, "tier_not_automatic"));
    }
    if situation.tier == Tier::D {
        matched.push((Verdict::Refuse, "tier_refused"));
    }
    let refused = situation.declined.iter().any(|reason| NOT_OVERRULED.contains(reason));
    if situation.proposer == ProposerName::Model && refused {
        matched.push((Verdict::Ask, "engine_refused"));
    }
    Decision::strictest(matched)
}

/// The second question, with the gate report: act, ask or refuse?
pub fn decide(situation: &Situation<'_>, report: &GateReport) -> Decision {
    let mut matched = vec![(judge(situation).verdict, "judged")];
    if report.first_failure().is_some() {
        matched.push((Verdict::Refuse, "gate_failed"));
    }
    for gate in [Gate::Syntax, Gate::Fence, Gate::Overfit, Gate::Safety] {
        if report.verdict(gate) != Answer::Passed {
            matched.push((Verdict::Refuse, "static_gate_not_passed"));
        }
    }
    if report.verdict(Gate::Trial) != Answer::Passed {
        matched.push((Verdict::Ask, "trial_not_passed"));
    }
    if report.verdict(Gate::Replay) != Answer::Passed {
        matched.push((Verdict::Ask, "nothing_replayed"));
    }
    if situation.proposer == ProposerName::Model && !has_oracle(report) {
        matched.push((Verdict::Ask, "model_without_oracle"));
    }
    let mut decision = Decision::strictest(matched);
    decision.rules.dedup();
    decision
}

/// Whether something other than the symptom said yes: a recorded call, an example, a contract, a verify command.
pub fn has_oracle(report: &GateReport) -> bool {
    report.checks.iter().any(|check| {
        check.answer == Answer::Passed && matches!(check.name.as_str(), "calls" | "examples" | "contract" | "verify")
    })
}

/// Lets a checked candidate through if policy permits it, else gives it back with the decision.
///
/// # Errors
/// The checked candidate and the decision, when that is not [`Verdict::Permit`].
pub fn permit(situation: &Situation<'_>, checked: Checked) -> Result<Approved<Checked>, (Checked, Decision)> {
    let decision = decide(situation, &checked.report);
    match decision.verdict {
        Verdict::Permit => Ok(Approved::by_policy(checked, Approver::Policy { rules: decision.rules })),
        Verdict::Ask | Verdict::Refuse => Err((checked, decision)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Situation, Verdict, decide, judge};
    use crate::gate::{Check, Gate, GateReport};
    use crate::incident::{Mode, ProposerName, Rules};
    use crate::outcome::Reason;
    use crate::proposal::Tier;

    fn report(skip: &[Gate]) -> GateReport {
        let checks = Gate::ALL
            .iter()
            .map(|gate| match skip.contains(gate) {
                true => Check::skipped(*gate, "x", "not here"),
                false => Check::passed(*gate, "x"),
            })
            .collect();
        GateReport { checks }
    }

    fn check(mode: Mode, tier: Tier, skip: &[Gate]) -> Verdict {
        let rules = Rules { mode, ..Rules::default() };
        let situation =
            Situation { rules: &rules, proposer: ProposerName::Drift, tier, stopped: false, declined: vec![] };
        decide(&situation, &report(skip)).verdict
    }

    #[test]
    fn strictest_rule_wins() {
        assert_eq!(check(Mode::Auto, Tier::A, &[]), Verdict::Permit);
        assert_eq!(check(Mode::Auto, Tier::B, &[Gate::Verify]), Verdict::Permit);
        assert_eq!(check(Mode::Auto, Tier::C, &[]), Verdict::Ask);
        assert_eq!(check(Mode::Ask, Tier::A, &[]), Verdict::Ask);
        assert_eq!(check(Mode::Auto, Tier::A, &[Gate::Trial]), Verdict::Ask);
        assert_eq!(check(Mode::Auto, Tier::A, &[Gate::Replay]), Verdict::Ask);
        assert_eq!(check(Mode::Auto, Tier::A, &[Gate::Safety]), Verdict::Refuse);
        assert_eq!(check(Mode::Observe, Tier::A, &[]), Verdict::Refuse);
    }

    #[test]
    fn a_model_needs_an_oracle() {
        let rules = Rules::default();
        let situation =
            Situation { rules: &rules, proposer: ProposerName::Model, tier: Tier::C, stopped: false, declined: vec![] };
        assert_eq!(decide(&situation, &report(&[])).verdict, Verdict::Ask);
        let mut with_oracle = report(&[]);
        with_oracle.checks.push(Check::passed(Gate::Replay, "examples"));
        assert_eq!(decide(&situation, &with_oracle).verdict, Verdict::Permit);
        for reason in super::NOT_OVERRULED {
            let overruling = Situation { declined: vec![Reason::NoProposer, reason], ..situation.clone() };
            assert_eq!(decide(&overruling, &with_oracle).verdict, Verdict::Ask, "{reason:?}");
        }
    }

    #[test]
    fn a_stop_switch_refuses() {
        let rules = Rules::default();
        let situation =
            Situation { rules: &rules, proposer: ProposerName::Drift, tier: Tier::A, stopped: true, declined: vec![] };
        assert_eq!(judge(&situation).verdict, Verdict::Refuse);
    }
}
