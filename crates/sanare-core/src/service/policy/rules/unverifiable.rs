//! Where nothing can show success, a person looks (S89, S111).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `unverifiable`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "unverifiable",
    lifts: "configure a probe that says what is served, or a signal",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.verifiable = false, says: Some(Verdict::Ask) },
        Example { change: |_, _| {}, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    (!case.verifiable).then(|| (Verdict::Ask, "nothing could show that it helped".to_owned()))
}
