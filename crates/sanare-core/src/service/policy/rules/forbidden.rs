//! What the owner forbids no approval lifts.

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;
use crate::service::action::Action;

/// `forbidden`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "forbidden",
    lifts: "take the action off `forbidden`",
    framework: true,
    fires,
    examples: &[
        Example { change: |_, numbers| numbers.forbidden.extend(Action::ALL), says: Some(Verdict::Refuse) },
        Example { change: |_, numbers| numbers.forbidden.extend([Action::ReloadModel]), says: None },
    ],
};

fn fires(case: &Case, numbers: &Numbers) -> Option<(Verdict, String)> {
    numbers.forbidden.contains(&case.action).then(|| (Verdict::Refuse, format!("{} is forbidden here", case.action)))
}
