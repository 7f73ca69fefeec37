//! No application action comes twice in an incident (S12).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `tried`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "tried",
    lifts: "nothing does: another action, or a person",
    framework: true,
    fires,
    examples: &[
        Example { change: |case, _| case.tried = true, says: Some(Verdict::Refuse) },
        Example { change: |_, _| {}, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    case.tried.then(|| (Verdict::Refuse, format!("{} was tried in this incident", case.action)))
}
