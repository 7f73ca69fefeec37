//! Confidence that was never measured against what came of it is a claim (S75).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `unmeasured`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "unmeasured",
    lifts: "more verified attempts of this kind, action and agent",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.verified_attempts = 4, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.verified_attempts = 5, says: None },
    ],
};

fn fires(case: &Case, numbers: &Numbers) -> Option<(Verdict, String)> {
    (case.verified_attempts < numbers.history_min).then(|| {
        (Verdict::Ask, format!("{} verified attempts, {} are needed", case.verified_attempts, numbers.history_min))
    })
}
