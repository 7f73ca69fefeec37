//! Only a small share of the instances is touched at once; small fleets ask (S95).

use super::super::case::Case;
use super::super::numbers::Numbers;
use super::super::{BuiltIn, Example};
use crate::policy::Verdict;
use crate::service::declaration::Blast;

/// `blast_radius`.
pub(super) const RULE: BuiltIn = BuiltIn {
    id: "blast_radius",
    lifts: "touch fewer instances at once",
    framework: false,
    fires,
    examples: &[
        Example { change: |case, _| case.blast = Blast { touched: 34, of: 100 }, says: None },
        Example { change: |case, _| case.blast = Blast { touched: 35, of: 100 }, says: Some(Verdict::Refuse) },
        Example { change: |case, _| case.blast = Blast { touched: 1, of: 1 }, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.blast = Blast { touched: 1, of: 2 }, says: Some(Verdict::Ask) },
        Example { change: |case, _| case.blast = Blast { touched: 1, of: 3 }, says: None },
        Example { change: |case, _| case.blast = Blast { touched: 2, of: 3 }, says: Some(Verdict::Refuse) },
        Example {
            change: |case, numbers| {
                case.blast = Blast { touched: 1, of: 1 };
                numbers.blast.floor_verdict = Verdict::Refuse;
            },
            says: Some(Verdict::Refuse),
        },
    ],
};

fn fires(case: &Case, numbers: &Numbers) -> Option<(Verdict, String)> {
    let (touched, of) = (case.blast.touched, case.blast.of);
    if f64::from(touched) <= numbers.blast.share * f64::from(of) {
        return None;
    }
    let verdict = if touched <= numbers.blast.floor { numbers.blast.floor_verdict } else { Verdict::Refuse };
    Some((verdict, format!("{touched} of {of} instances at once")))
}
