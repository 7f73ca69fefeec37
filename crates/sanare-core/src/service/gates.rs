//! What the gates between verdict and approval answered (S90).

use serde::{Deserialize, Serialize};

use super::text::Text;
use crate::gate::Answer;

/// The gates in running order.
pub const GATES: [&str; 4] = ["available", "identity", "preconditions", "dry_run"];

/// One answer of one gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateCheck {
    /// Which gate: one of [`GATES`].
    pub gate: String,
    /// What was looked at, such as `version_exists`.
    pub name: String,
    /// What it answered.
    pub answer: Answer,
    /// Why; empty for a plain pass.
    pub reason: Text,
}

impl GateCheck {
    /// A passed check.
    pub fn passed(gate: &str, name: &str) -> Self {
        Self { gate: gate.to_owned(), name: name.to_owned(), answer: Answer::Passed, reason: Text::of("") }
    }

    /// A failed check.
    pub fn failed(gate: &str, name: &str, reason: &str) -> Self {
        Self { gate: gate.to_owned(), name: name.to_owned(), answer: Answer::Failed, reason: Text::of(reason) }
    }

    /// A skipped check.
    pub fn skipped(gate: &str, name: &str, reason: &str) -> Self {
        Self { gate: gate.to_owned(), name: name.to_owned(), answer: Answer::Skipped, reason: Text::of(reason) }
    }
}

/// All answers on one proposal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GateReport {
    /// The checks in running order.
    pub checks: Vec<GateCheck>,
}

impl GateReport {
    /// The first failed check.
    pub fn first_failure(&self) -> Option<&GateCheck> {
        self.checks.iter().find(|check| check.answer == Answer::Failed)
    }

    /// The first skipped check. A gate that is owed and of which nothing is reported counts as skipped.
    pub fn first_skip<'a>(&'a self, owed: &[&'a str]) -> Option<(&'a str, &'a str)> {
        let skipped = self.checks.iter().find(|check| check.answer == Answer::Skipped);
        let told = skipped.map(|check| (check.gate.as_str(), check.reason.as_str()));
        let silent = || owed.iter().find(|gate| !self.checks.iter().any(|check| check.gate == **gate));
        told.or_else(|| silent().map(|gate| (*gate, "it was not asked")))
    }
}

#[cfg(test)]
mod tests {
    use super::{GATES, GateCheck, GateReport};

    #[test]
    fn skipped_and_silent_are_not_passed() {
        let mut report = GateReport { checks: GATES.iter().map(|gate| GateCheck::passed(gate, "x")).collect() };
        assert_eq!((report.first_failure(), report.first_skip(&GATES)), (None, None));
        report.checks.pop();
        assert_eq!(report.first_skip(&GATES), Some(("dry_run", "it was not asked")));
        assert_eq!(report.first_skip(&GATES[..3]), None, "nobody owes a gate that was not declared");
        report.checks.push(GateCheck::skipped("dry_run", "x", "the adapter has none"));
        assert_eq!(report.first_skip(&GATES), Some(("dry_run", "the adapter has none")));
        report.checks.push(GateCheck::failed("preconditions", "artefact", "it is gone"));
        assert_eq!(report.first_failure().map(|check| check.name.as_str()), Some("artefact"));
    }
}
