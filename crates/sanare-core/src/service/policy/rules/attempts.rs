//! After 3 attempts a person looks (S109).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `attempts`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "attempts",
    lifts: "nothing does: a person acts, or retries the incident",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.attempts = 3, says: Some(Verdict::Refuse) },
        Example { change: |case, _| case.attempts = 2, says: None },
        Example { change: |_, numbers| numbers.attempts = 0, says: Some(Verdict::Refuse) },
    ],
};

fn fires(case: &Case, numbers: &Numbers) -> Option<(Verdict, String)> {
    (case.attempts >= numbers.attempts)
        .then(|| (Verdict::Refuse, format!("{} attempts were made, {} are allowed", case.attempts, numbers.attempts)))
}
