//! Skipped is not passed (S90).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `gate_skipped`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "gate_skipped",
    lifts: "every gate must be passed",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.gate_skipped = Some("dry_run".to_owned()), says: Some(Verdict::Ask) },
        Example { change: |_, _| {}, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    let gate = case.gate_skipped.as_ref()?;
    Some((Verdict::Ask, format!("a gate was skipped: {gate}")))
}
