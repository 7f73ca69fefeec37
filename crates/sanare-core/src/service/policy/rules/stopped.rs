//! Nothing is begun while a stop switch is set, for all or for the application (S97).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `stopped`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "stopped",
    lifts: "lift it with `sanare start`",
    framework: true,
    fires,
    examples: &[
        Example { change: |case, _| case.stopped = true, says: Some(Verdict::Refuse) },
        Example { change: |_, _| {}, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    case.stopped.then(|| (Verdict::Refuse, "the stop switch is set".to_owned()))
}
