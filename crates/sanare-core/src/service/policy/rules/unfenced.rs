//! An act that compares nothing and must not happen twice is watched by a person.

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `unfenced`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "unfenced",
    lifts: "declare a fence, or make it idempotent",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.fenced = false, says: Some(Verdict::Ask) },
        Example {
            change: |case, _| {
                case.fenced = false;
                case.idempotent = true;
            },
            says: None,
        },
        Example { change: |_, _| {}, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    (!case.fenced && !case.idempotent).then(|| (Verdict::Ask, "it is neither fenced nor idempotent".to_owned()))
}
