//! Quality with labels: a number with its sample count, bad only if its whole 95 % interval is beyond the bound (S46).

use sanare_core::service::config::Bound;
use sanare_core::service::{Invalid, Moment};
use serde::{Deserialize, Serialize};

use crate::drift::statistics::wilson;
use crate::hold::{Change, Held, Hold, Sight};

/// Samples below which nothing is said.
const FEW: u64 = 30;
/// Windows of labels that are remembered, so that one is recognised when it is told again.
const REMEMBERED: usize = 32;
/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// How the interval of a quality is found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// A share of the samples, such as accuracy: Wilson's interval.
    Share,
    /// An area under the curve with so many positive samples: Hanley and McNeil (1982).
    Auc {
        /// Samples of the positive class.
        positives: u64,
    },
    /// Told by the sender: half the width of the 95 % interval.
    Half(f64),
    /// A mean, such as an error: the standard deviation of one sample.
    Deviation(f64),
}

/// One quality of one window of labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QualityReading {
    /// The number.
    pub value: f64,
    /// Labelled samples.
    pub samples: u64,
    /// Begin and end of the window of labels.
    pub window: (Moment, Moment),
    /// How its interval is found.
    pub spread: Spread,
    /// When it came.
    pub at: Moment,
}

/// A bound on a quality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QualityRule {
    bound: Bound,
    hold: Hold,
}

/// What is known of one quality.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QualityWatch {
    held: Held,
    /// Ends of the newest windows and what was said of them.
    told: Vec<(u64, u64, f64)>,
}

/// What a reading says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finding {
    /// It decides; the interval is what it was compared by.
    Judged {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
        /// The change that it made, if it made one.
        change: Option<Change>,
    },
    /// Too few samples, or one class only.
    Insufficient,
    /// Labels that arrived later changed a window that was judged before; what was decided then keeps its value.
    Restated {
        /// What the window's value was.
        before: f64,
    },
}

impl QualityRule {
    /// A bound on the side that is bad.
    ///
    /// # Errors
    /// [`Invalid`] for a bound that is not finite.
    pub fn new(bound: Bound) -> Result<Self, Invalid> {
        let (Bound::Above(limit) | Bound::Below(limit)) = bound;
        if !limit.is_finite() {
            return Err(Invalid::new("bound", "is not a finite number"));
        }
        Ok(Self { bound, hold: Hold { pending: 0, keep: 0 } })
    }

    /// Takes a reading.
    pub fn step(&self, watch: &mut QualityWatch, reading: QualityReading) -> Finding {
        let (from, to) = (reading.window.0.micros(), reading.window.1.micros());
        if let Some(told) = watch.told.iter_mut().find(|told| (told.0, told.1) == (from, to)) {
            return Finding::Restated { before: std::mem::replace(&mut told.2, reading.value) };
        }
        if watch.told.iter().any(|told| told.1 > to) {
            // An older window than one that was judged: it corrects history and decides nothing.
            return Finding::Restated { before: reading.value };
        }
        let Some((low, high)) = interval(&reading) else { return Finding::Insufficient };
        if watch.told.len() == REMEMBERED {
            watch.told.remove(0);
        }
        watch.told.push((from, to, reading.value));
        let change = self.hold.step(&mut watch.held, reading.at, self.sight(reading.value, low, high), 0);
        Finding::Judged { low, high, change }
    }

    fn sight(&self, value: f64, low: f64, high: f64) -> Sight {
        let (beyond, within) = match self.bound {
            Bound::Below(bound) => (high < bound, value >= bound),
            Bound::Above(bound) => (low > bound, value <= bound),
        };
        match (beyond, within) {
            (true, _) => Sight::Bad,
            (false, true) => Sight::Good,
            (false, false) => Sight::Between,
        }
    }
}

impl QualityWatch {
    /// Whether its incident is open.
    pub fn is_ill(&self) -> bool {
        self.held.is_ill()
    }
}

/// The 95 % interval of a reading; none where the samples do not carry one.
pub fn interval(reading: &QualityReading) -> Option<(f64, f64)> {
    let QualityReading { value, samples, .. } = *reading;
    if samples < FEW || !value.is_finite() {
        return None;
    }
    let half = match reading.spread {
        Spread::Share if (0.0..=1.0).contains(&value) => return Some(wilson(value, samples)),
        Spread::Share => return None,
        Spread::Auc { positives } => Z * auc_error(value, positives, samples.checked_sub(positives)?)?,
        Spread::Half(half) => half,
        Spread::Deviation(deviation) => Z * deviation / (samples as f64).sqrt(),
    };
    (half.is_finite() && half >= 0.0).then_some((value - half, value + half))
}

/// Hanley and McNeil (1982), "The meaning and use of the area under a receiver operating characteristic curve".
fn auc_error(auc: f64, positives: u64, negatives: u64) -> Option<f64> {
    if positives == 0 || negatives == 0 || !(0.0..=1.0).contains(&auc) {
        return None;
    }
    let (pos, neg) = (positives as f64, negatives as f64);
    let (first, second) = (auc / (2.0 - auc), 2.0 * auc * auc / (1.0 + auc));
    let spread = auc * (1.0 - auc) + (pos - 1.0) * (first - auc * auc) + (neg - 1.0) * (second - auc * auc);
    Some((spread / (pos * neg)).max(0.0).sqrt())
}

#[cfg(test)]
mod tests {
    use sanare_core::service::Moment;
    use sanare_core::service::config::Bound;
    use sanare_core::service::moment::{DAY, HOUR};

    use super::{Finding, QualityReading, QualityRule, QualityWatch, Spread, auc_error, interval};

    fn reading(hour: u64, value: f64, samples: u64, spread: Spread) -> QualityReading {
        let from = Moment::from_micros(20_000 * DAY + hour * HOUR);
        QualityReading { value, samples, window: (from, from.plus(HOUR)), spread, at: from.plus(HOUR) }
    }

    fn check(readings: &[QualityReading]) -> Vec<String> {
        let rule = QualityRule::new(Bound::Below(0.80)).expect("a rule");
        let mut watch = QualityWatch::default();
        let tell = |finding| match finding {
            Finding::Judged { change: Some(change), .. } => change.to.word().to_owned(),
            Finding::Judged { .. } => "-".to_owned(),
            Finding::Insufficient => "insufficient".to_owned(),
            Finding::Restated { before } => format!("restated {before}"),
        };
        readings.iter().map(|reading| tell(rule.step(&mut watch, *reading))).collect()
    }

    #[test]
    fn only_a_whole_interval_beyond_the_bound_is_low() {
        let half = |hour, value, half| reading(hour, value, 1_000, Spread::Half(half));
        assert_eq!(check(&[half(0, 0.79, 0.05)]), ["-"]);
        assert_eq!(check(&[half(0, 0.70, 0.02)]), ["firing"]);
        assert_eq!(check(&[half(0, 0.70, 0.02), half(1, 0.79, 0.05), half(2, 0.81, 0.05)]), ["firing", "-", "cleared"]);
    }

    #[test]
    fn a_sample_that_carries_no_interval_is_insufficient() {
        assert_eq!(check(&[reading(0, 0.0, 1, Spread::Share)]), ["insufficient"]);
        assert_eq!(check(&[reading(0, 0.5, 500, Spread::Auc { positives: 500 })]), ["insufficient"]);
        assert_eq!(check(&[reading(0, 0.5, 500, Spread::Auc { positives: 0 })]), ["insufficient"]);
        assert_eq!(check(&[reading(0, 0.5, 500, Spread::Auc { positives: 600 })]), ["insufficient"]);
        assert_eq!(check(&[reading(0, f64::NAN, 500, Spread::Share)]), ["insufficient"]);
        assert_eq!(check(&[reading(0, 0.1, 500, Spread::Half(f64::NAN))]), ["insufficient"]);
    }

    #[test]
    fn labels_that_arrive_later_restate_and_decide_nothing() {
        let good = |hour| reading(hour, 0.9, 1_000, Spread::Share);
        let bad = |hour| reading(hour, 0.5, 1_000, Spread::Share);
        assert_eq!(check(&[good(0), bad(0)]), ["-", "restated 0.9"], "the same window");
        let late = QualityReading { at: good(720).at, ..bad(0) };
        assert_eq!(check(&[good(1), late]), ["-", "restated 0.5"], "a window from 30 days ago");
        assert_eq!(check(&[bad(0), good(0), good(1)]), ["firing", "restated 0.5", "cleared"]);
    }

    /// Hanley and McNeil (1982): an area of 0.893 from 51 abnormal and 58 normal images has a standard error of 0.032.
    #[test]
    fn the_error_of_an_area_is_the_published_one() {
        let error = auc_error(0.893, 51, 58).expect("an error");
        assert!((error - 0.032).abs() < 0.001, "{error}");
        let (low, high) = interval(&reading(0, 0.893, 109, Spread::Auc { positives: 51 })).expect("an interval");
        assert!(low > 0.82 && high < 0.96);
    }
}
