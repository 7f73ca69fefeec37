//! For 5 minutes after the wall clock jumped nobody knows how old anything is (S34).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// How long a clock must be steady.
pub const STEADY_MS: u64 = 300_000;

/// `clock_jump`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "clock_jump",
    lifts: "wait until the clock was steady for 5 minutes",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.since_clock_jump_ms = Some(299_999), says: Some(Verdict::Refuse) },
        Example { change: |case, _| case.since_clock_jump_ms = Some(300_000), says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    let since = case.since_clock_jump_ms.filter(|since| *since < STEADY_MS)?;
    Some((Verdict::Refuse, format!("the clock jumped {} s ago", since / 1_000)))
}
