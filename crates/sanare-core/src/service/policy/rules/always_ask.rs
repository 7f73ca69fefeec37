//! Some actions always need a person; request_redeployment is always one of them.

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;
use crate::service::action::Action;

/// `always_ask`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "always_ask",
    lifts: "take the action off `always_ask`, unless it is request_redeployment",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.action = Action::RollbackModel, says: Some(Verdict::Ask) },
        Example { change: |_, _| {}, says: None },
        Example {
            change: |case, numbers| {
                case.action = Action::RequestRedeployment;
                numbers.always_ask.clear();
            },
            says: Some(Verdict::Ask),
        },
        Example {
            change: |case, numbers| {
                case.action = Action::RollbackModel;
                numbers.always_ask.clear();
            },
            says: None,
        },
    ],
};

fn fires(case: &Case, numbers: &Numbers) -> Option<(Verdict, String)> {
    let listed = numbers.always_ask.contains(&case.action) || case.action == Action::RequestRedeployment;
    listed.then(|| (Verdict::Ask, format!("{} always asks", case.action)))
}
