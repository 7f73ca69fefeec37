//! In mode ask every application action needs a person (S96).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::incident::Mode;
use crate::policy::Verdict;

/// `mode_ask`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "mode_ask",
    lifts: "set the mode to auto",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.mode = Mode::Ask, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.mode = Mode::Auto, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    (case.mode == Mode::Ask).then(|| (Verdict::Ask, "the mode is ask".to_owned()))
}
