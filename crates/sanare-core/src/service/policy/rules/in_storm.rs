//! Many applications ill at once have a common cause, which acts on one of them do not mend (S52).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `in_storm`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "in_storm",
    lifts: "wait until the storm ends, or lift it with `sanare storm lift`",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.in_storm = true, says: Some(Verdict::Refuse) },
        Example { change: |_, _| {}, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    case.in_storm.then(|| (Verdict::Refuse, "storm mode holds".to_owned()))
}
