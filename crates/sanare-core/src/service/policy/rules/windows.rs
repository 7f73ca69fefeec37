//! So many acts an hour and a day, on a target, on an application, in all (S99).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;

/// `windows`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "windows",
    lifts: "wait until the window has room, or raise `windows`",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.counts.target.hour = 2, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.counts.target.hour = 1, says: None },
        Example { change: |case, _| case.counts.target.day = 6, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.counts.target.day = 5, says: None },
        Example { change: |case, _| case.counts.application.hour = 4, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.counts.application.day = 12, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.counts.application.day = 11, says: None },
        Example { change: |case, _| case.counts.all.hour = 10, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.counts.all.day = 50, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.counts.all.day = 49, says: None },
    ],
};

fn fires(case: &Case, numbers: &Numbers) -> Option<(Verdict, String)> {
    let (done, most) = (case.counts, numbers.windows);
    let places = [
        ("target", done.target, most.target),
        ("application", done.application, most.application),
        ("all", done.all, most.all),
    ];
    let full = places.into_iter().find_map(|(place, done, most)| {
        let hour = (done.hour >= most.hour)
            .then(|| format!("{place}: {} acts within an hour, {} are allowed", done.hour, most.hour));
        hour.or_else(|| {
            (done.day >= most.day).then(|| format!("{place}: {} acts within a day, {} are allowed", done.day, most.day))
        })
    })?;
    Some((Verdict::Ask, full))
}
