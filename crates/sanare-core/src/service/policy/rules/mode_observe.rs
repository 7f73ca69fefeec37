//! In mode observe nothing is done (S96).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::incident::Mode;
use crate::policy::Verdict;

/// `mode_observe`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "mode_observe",
    lifts: "set the mode to ask or auto",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.mode = Mode::Observe, says: Some(Verdict::Refuse) },
        Example { change: |case, _| case.mode = Mode::Off, says: Some(Verdict::Refuse) },
        Example { change: |case, _| case.mode = Mode::DryRun, says: None },
    ],
};

fn fires(case: &Case, _: &Numbers) -> Option<(Verdict, String)> {
    matches!(case.mode, Mode::Observe | Mode::Off).then(|| (Verdict::Refuse, "the mode is observe".to_owned()))
}
