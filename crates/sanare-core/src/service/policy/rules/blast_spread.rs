//! Not many applications at once, and never so that too few healthy instances are left (S95).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `blast_spread`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "blast_spread",
    lifts: "wait until other acts are over, or more instances are healthy",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.applications_at_once = 2, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.applications_at_once = 1, says: None },
        Example {
            change: |case, _| {
                case.blast.of = 4;
                case.healthy = 2;
                case.takes_healthy = 1;
            },
            says: Some(Verdict::Ask),
        },
        Example {
            change: |case, _| {
                case.blast.of = 4;
                case.healthy = 3;
                case.takes_healthy = 1;
            },
            says: None,
        },
        Example {
            change: |case, _| {
                case.blast.of = 1;
                case.healthy = 0;
            },
            says: None,
        },
    ],
};

fn fires(case: &Case, numbers: &Numbers) -> Option<(Verdict, String)> {
    if case.applications_at_once >= numbers.blast.applications_at_once {
        return Some((Verdict::Ask, format!("{} other applications are being acted on", case.applications_at_once)));
    }
    let left = f64::from(case.healthy.saturating_sub(case.takes_healthy));
    let few = case.takes_healthy > 0 && left < numbers.blast.min_healthy * f64::from(case.blast.of);
    few.then(|| (Verdict::Ask, format!("{left} of {} instances would be left healthy", case.blast.of)))
}
