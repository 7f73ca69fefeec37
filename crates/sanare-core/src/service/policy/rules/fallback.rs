//! When the model failed and the rules stand in, a person decides (S72).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;
use crate::service::word::Origin;

/// `fallback`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "fallback",
    lifts: "the model must answer",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.origin = Origin::Fallback, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.origin = Origin::Model, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    (case.origin == Origin::Fallback).then(|| (Verdict::Ask, "the rules stand in for the model".to_owned()))
}
