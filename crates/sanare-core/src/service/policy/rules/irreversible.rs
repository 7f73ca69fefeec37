//! What cannot be taken back is not done for a small matter; restarts and reloads are excepted.

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;
use crate::service::action::Action;
use crate::service::word::Severity;

/// `irreversible`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "irreversible",
    lifts: "declare an undo, or let a person decide",
    framework: false,
    fires,
    examples: &[
        Example {
            change: |case, _| {
                case.action = Action::RequestRetraining;
                case.severity = Severity::Medium;
            },
            says: Some(Verdict::Ask),
        },
        Example {
            change: |case, _| {
                case.action = Action::RequestRetraining;
                case.severity = Severity::High;
            },
            says: None,
        },
        Example { change: |case, _| case.severity = Severity::Low, says: None },
        Example {
            change: |case, _| {
                case.action = Action::RequestRetraining;
                case.severity = Severity::Low;
                case.reversible = true;
            },
            says: None,
        },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    let excepted = matches!(case.action, Action::RestartComponent | Action::ReloadModel);
    let fires = !case.reversible && !excepted && case.severity < Severity::High;
    fires.then(|| (Verdict::Ask, format!("it cannot be taken back, and the severity is {}", case.severity)))
}
