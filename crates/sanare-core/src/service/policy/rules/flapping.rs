//! A condition that comes and goes says little about what would help (S51).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `flapping`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "flapping",
    lifts: "wait until it was quiet for 30 minutes",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.flapping = true, says: Some(Verdict::Ask) },
        Example { change: |_, _| {}, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    case.flapping.then(|| (Verdict::Ask, "its condition comes and goes".to_owned()))
}
