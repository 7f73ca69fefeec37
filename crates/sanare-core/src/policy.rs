//! Policy: whether a repair is applied, asked for, or refused. The strictest rule that matches wins (C96).

pub mod file;
pub mod rule;
#[cfg(test)]
mod tests;
pub mod window;

use serde::{Deserialize, Serialize};

pub use file::{Policy, stricter};
pub use rule::Facts;

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

/// A rule that fired, with what made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fired {
    /// Its id.
    pub rule: String,
    /// What it says.
    pub verdict: Verdict,
    /// The values, in words.
    pub because: String,
}

/// A verdict with the rules that led to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The strictest verdict of all rules that fired.
    pub verdict: Verdict,
    /// Ids of the rules that gave it.
    pub rules: Vec<String>,
    /// Every rule that fired, the milder ones too.
    #[serde(default)]
    pub fired: Vec<Fired>,
}

impl Decision {
    pub(crate) fn strictest(fired: Vec<Fired>) -> Self {
        let verdict = file::strictest(&fired);
        let mut rules: Vec<String> =
            fired.iter().filter(|one| one.verdict == verdict).map(|one| one.rule.clone()).collect();
        rules.dedup();
        if rules.is_empty() {
            rules.push("default".to_owned());
        }
        Self { verdict, rules, fired }
    }

    /// Why, for people: what the deciding rules saw.
    pub fn because(&self) -> String {
        let deciding = self.fired.iter().filter(|one| one.verdict == self.verdict);
        let words: Vec<String> = deciding.map(|one| one.because.clone()).collect();
        if words.is_empty() { self.rules.join(", ") } else { words.join("; ") }
    }
}

/// What is judged.
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
    /// The owner's file.
    pub policy: &'a Policy,
    /// What its rules are matched against.
    pub facts: Facts,
    /// Reasons with which other proposers declined before.
    pub declined: Vec<Reason>,
}

/// What the offline engine says of the data, and what no model overrules (C70).
const NOT_OVERRULED: [Reason; 5] =
    [Reason::Vetoed, Reason::ScaleOrUnit, Reason::IncompleteData, Reason::MissingField, Reason::Ambiguous];

/// Every built-in rule, with what would have to be otherwise for it not to fire.
pub const BUILT_IN: [(&str, &str); 13] = [
    ("stop_switch", "lift it with `sanare start`"),
    ("policy_unreadable", "mend the policy file"),
    ("mode_observe", "set the mode to ask or auto"),
    ("mode_ask", "set the mode to auto"),
    ("tier_not_automatic", "name the tier in heal.drift.automatic_tiers, if it is A or B"),
    ("tier_refused", "nothing does"),
    ("engine_refused", "nothing does: what the offline engine refuses is for a person"),
    ("gate_failed", "no gate may fail"),
    ("static_gate_not_passed", "gates 1 to 4 must be passed"),
    ("trial_not_passed", "the trial must be passed"),
    ("nothing_replayed", "something old must be replayed: a remembered call, an example"),
    ("verify_not_passed", "the owner's verify commands must pass"),
    ("model_without_oracle", "give an example, a contract or a verify command"),
];

/// The first question: may this be gone on with at all?
pub fn judge(situation: &Situation<'_>) -> Decision {
    Decision::strictest(judged(situation))
}

fn judged(situation: &Situation<'_>) -> Vec<Fired> {
    let mut fired = Vec::new();
    let mut add = |verdict, rule: &str, because: String| {
        fired.push(Fired { rule: rule.to_owned(), verdict, because });
    };
    if situation.stopped {
        add(Verdict::Refuse, "stop_switch", "the stop switch is set".to_owned());
    }
    if let Some(why) = situation.policy.trouble() {
        add(Verdict::Refuse, "policy_unreadable", format!("the policy file cannot be used: {why}"));
    }
    match situation.rules.mode {
        Mode::Observe | Mode::Off => add(Verdict::Refuse, "mode_observe", "the mode is observe".to_owned()),
        Mode::Ask => add(Verdict::Ask, "mode_ask", "the mode is ask".to_owned()),
        Mode::Auto | Mode::DryRun => {}
    }
    let tier = format!("{:?}", situation.tier);
    let automatic = situation.rules.automatic_tiers.contains(&tier);
    if situation.proposer == ProposerName::Drift && !automatic {
        add(Verdict::Ask, "tier_not_automatic", format!("a repair of tier {tier} is not made without a person"));
    }
    if situation.tier == Tier::D {
        add(Verdict::Refuse, "tier_refused", "a repair of tier D is never made".to_owned());
    }
    if situation.proposer == ProposerName::Model
        && let Some(reason) = situation.declined.iter().find(|reason| NOT_OVERRULED.contains(reason))
    {
        add(Verdict::Ask, "engine_refused", format!("the offline engine refused: {}", reason.sentence()));
    }
    fired.extend(situation.policy.fired(&situation.facts));
    fired
}

/// The second question, with the gate report: act, ask or refuse?
pub fn decide(situation: &Situation<'_>, report: &GateReport) -> Decision {
    let mut situation = situation.clone();
    situation.facts.gates = Some(report.clone());
    let mut fired = judged(&situation);
    let mut add = |verdict, rule: &str, because: String| {
        fired.push(Fired { rule: rule.to_owned(), verdict, because });
    };
    if let Some(check) = report.first_failure() {
        add(Verdict::Refuse, "gate_failed", format!("{}/{} failed", check.gate.word(), check.name));
    }
    for gate in [Gate::Syntax, Gate::Fence, Gate::Overfit, Gate::Safety] {
        if report.verdict(gate) != Answer::Passed {
            add(Verdict::Refuse, "static_gate_not_passed", format!("gate {} was not passed", gate.word()));
        }
    }
    if report.verdict(Gate::Trial) != Answer::Passed {
        add(Verdict::Ask, "trial_not_passed", skipped(report, Gate::Trial, "the trial was not passed"));
    }
    if report.verdict(Gate::Replay) != Answer::Passed {
        add(Verdict::Ask, "nothing_replayed", skipped(report, Gate::Replay, "nothing old was replayed"));
    }
    // Without a verify command the gate has no check at all.
    if report.checks.iter().any(|check| check.gate == Gate::Verify) && report.verdict(Gate::Verify) != Answer::Passed {
        add(Verdict::Ask, "verify_not_passed", skipped(report, Gate::Verify, "the verify command was not passed"));
    }
    if situation.proposer == ProposerName::Model && !situation.rules.unverified && !has_oracle(report) {
        let because = "no recorded call, example, contract or verify command confirms a model's repair".to_owned();
        let verdict = if situation.rules.unverified_refused { Verdict::Refuse } else { Verdict::Ask };
        add(verdict, "model_without_oracle", because);
    }
    Decision::strictest(fired)
}

/// The first skip of a gate with its reason.
fn skipped(report: &GateReport, gate: Gate, words: &str) -> String {
    let first = report.checks.iter().find(|check| check.gate == gate && check.answer == Answer::Skipped);
    first.map_or_else(|| words.to_owned(), |check| format!("{words}: {}", check.reason))
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
