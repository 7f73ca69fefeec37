//! What the limits count cannot be known while the store fails (S120).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `store_error`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "store_error",
    lifts: "mend the store",
    framework: true,
    fires,
    examples: &[
        Example { change: |case, _| case.store_error = true, says: Some(Verdict::Refuse) },
        Example { change: |_, _| {}, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    case.store_error.then(|| (Verdict::Refuse, "the store failed".to_owned()))
}
