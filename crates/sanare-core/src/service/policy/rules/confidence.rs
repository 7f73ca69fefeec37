//! Below the gate a person decides; measured confidence counts where it is lower.

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `confidence`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "confidence",
    lifts: "the confidence must reach `confidence_gate`",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.confidence = 0.699, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.confidence = 0.7, says: None },
        Example { change: |case, _| case.confidence = f64::NAN, says: Some(Verdict::Ask) },
    ],
};

fn fires(case: &Case, numbers: &Numbers) -> Option<(Verdict, String)> {
    // Written so that what is no number is below the gate.
    let sure = case.confidence >= numbers.confidence_gate;
    (!sure)
        .then(|| (Verdict::Ask, format!("confidence {:.2} is under {:.2}", case.confidence, numbers.confidence_gate)))
}
