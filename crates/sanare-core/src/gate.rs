//! What a gate says: passed, failed, or skipped with a reason. Skipped is not passed.

use serde::{Deserialize, Serialize};

/// The seven gates, cheap to dear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// 1: it parses and compiles.
    Syntax,
    /// 2: it is a new body for exactly the one function.
    Fence,
    /// 3: it changes something, and is not fitted to the one failing input.
    Overfit,
    /// 4: it can do nothing that the old body could not.
    Safety,
    /// 5: it returns in a shut-in copy of the failing process.
    Trial,
    /// 6: remembered calls and examples still give what they gave.
    Replay,
    /// 7: the owner's own commands accept it.
    Verify,
}

impl Gate {
    /// All gates in running order.
    pub const ALL: [Gate; 7] =
        [Self::Syntax, Self::Fence, Self::Overfit, Self::Safety, Self::Trial, Self::Replay, Self::Verify];

    /// Its word in records.
    pub fn word(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Fence => "fence",
            Self::Overfit => "overfit",
            Self::Safety => "safety",
            Self::Trial => "trial",
            Self::Replay => "replay",
            Self::Verify => "verify",
        }
    }

    /// Its number for people, from 1.
    pub fn number(self) -> u8 {
        self as u8 + 1
    }
}

/// The answer of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Looked at, and good.
    Passed,
    /// Looked at, and not good.
    Failed,
    /// Not looked at; the reason says why.
    Skipped,
}

/// One check of one gate, with its answer and reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The gate it belongs to.
    pub gate: Gate,
    /// Its name in the closed list of C81, such as `no_swallow`.
    pub name: String,
    /// What it answered.
    pub answer: Answer,
    /// Why, in one line; empty only for a plain pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// How long it took, in microseconds (0 where nobody timed it).
    #[serde(default)]
    pub micros: u64,
}

impl Check {
    /// A passed check.
    pub fn passed(gate: Gate, name: &str) -> Self {
        Self { gate, name: name.to_owned(), answer: Answer::Passed, reason: String::new(), micros: 0 }
    }

    /// A failed check.
    pub fn failed(gate: Gate, name: &str, reason: impl Into<String>) -> Self {
        Self { gate, name: name.to_owned(), answer: Answer::Failed, reason: reason.into(), micros: 0 }
    }

    /// A skipped check.
    pub fn skipped(gate: Gate, name: &str, reason: impl Into<String>) -> Self {
        Self { gate, name: name.to_owned(), answer: Answer::Skipped, reason: reason.into(), micros: 0 }
    }
}

/// All answers on one candidate, in running order. The first failure ends it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateReport {
    /// The checks that were made.
    pub checks: Vec<Check>,
}

impl GateReport {
    /// The first failed check.
    pub fn first_failure(&self) -> Option<&Check> {
        self.checks.iter().find(|check| check.answer == Answer::Failed)
    }

    /// What a whole gate says: failed if a check failed, passed if one passed and none failed, else skipped.
    /// A gate of which nothing is reported is skipped.
    pub fn verdict(&self, gate: Gate) -> Answer {
        let mut answer = Answer::Skipped;
        for check in self.checks.iter().filter(|check| check.gate == gate) {
            match check.answer {
                Answer::Failed => return Answer::Failed,
                Answer::Passed => answer = Answer::Passed,
                Answer::Skipped => {}
            }
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Check, Gate, GateReport};

    #[test]
    fn skipped_is_not_passed() {
        let report = GateReport { checks: vec![Check::skipped(Gate::Trial, "returns", "no isolation: landlock")] };
        assert_eq!(report.verdict(Gate::Trial), Answer::Skipped);
        assert_eq!(report.verdict(Gate::Replay), Answer::Skipped);
    }
}
