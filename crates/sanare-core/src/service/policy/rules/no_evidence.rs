//! A diagnosis that cites nothing rests on nothing (S69).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `no_evidence`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "no_evidence",
    lifts: "the diagnosis must cite a reading",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.cited = 0, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.cited = 1, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    (case.cited == 0).then(|| (Verdict::Ask, "no reading was cited".to_owned()))
}
