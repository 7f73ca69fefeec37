//! A policy that cannot be read permits nothing; the last good one is not used in its place (S93).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `policy_unreadable`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "policy_unreadable",
    lifts: "mend the policy file",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.policy_trouble = Some("line 3".to_owned()), says: Some(Verdict::Refuse) },
        Example { change: |_, _| {}, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    let why = case.policy_trouble.as_ref()?;
    Some((Verdict::Refuse, format!("the policy file cannot be used: {why}")))
}
