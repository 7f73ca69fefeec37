//! A target rests after an act, longer after each that failed (S99).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `cooldown`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "cooldown",
    lifts: "wait until the rest is over",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.cooldown_left_ms = 1, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.cooldown_left_ms = 0, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    (case.cooldown_left_ms > 0)
        .then(|| (Verdict::Ask, format!("it rests for another {} s", case.cooldown_left_ms.div_ceil(1_000))))
}
