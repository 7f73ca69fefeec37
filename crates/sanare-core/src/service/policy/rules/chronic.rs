//! What heals and falls ill again is not healed by the same act once more (S51).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `chronic`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "chronic",
    lifts: "nothing does: the cause lies deeper",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.chronic = true, says: Some(Verdict::Ask) },
        Example { change: |_, _| {}, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    case.chronic.then(|| (Verdict::Ask, "it heals and falls ill again".to_owned()))
}
