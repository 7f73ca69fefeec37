//! A target whose state another system owns would be set back by it.

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `truth_elsewhere`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "truth_elsewhere",
    lifts: "make the change in the system that owns it",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.truth_elsewhere = Some("argocd".to_owned()), says: Some(Verdict::Refuse) },
        Example { change: |_, _| {}, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    let owner = case.truth_elsewhere.as_ref()?;
    Some((Verdict::Refuse, format!("its state is owned by {owner}; propose the change there")))
}
