//! Without a configured target that can be reached now there is nothing to act on (S79, S80).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `unmapped`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "unmapped",
    lifts: "configure the target, or make it reachable",
    framework: true,
    fires,
    examples: &[
        Example { change: |case, _| case.unavailable = Some("no target".to_owned()), says: Some(Verdict::Refuse) },
        Example { change: |_, _| {}, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    let why = case.unavailable.as_ref()?;
    Some((Verdict::Refuse, format!("the action is not available: {why}")))
}
