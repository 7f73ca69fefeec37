//! Threshold rules: a number out of bounds for long enough (S37).

use sanare_core::service::config::{Aggregate, Bound, RuleSettings};
use sanare_core::service::moment::{MINUTE, SECOND};
use sanare_core::service::{Component, Condition, Invalid, Labels, Moment, Severity, Signal};
use serde::{Deserialize, Serialize};

use crate::hold::{Change, Held, Hold, Sight};
use crate::reading::{Input, Reading};
use crate::window::Window;

/// Nothing that a rule measures may be shorter.
const FLOOR: u64 = 5 * SECOND;
/// A window longer than this would look further back than lateness is repaired.
const LONGEST: u64 = 24 * 60 * MINUTE;
/// Readings that `of` may look at.
const OF_MOST: u8 = 20;
/// What a pulled sample of unknown age may hide: Prometheus' look-back (S27).
const LOOK_BACK: u64 = 5 * MINUTE;

/// A rule that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    draft: RuleSettings,
    clear: f64,
    hold: Hold,
    window: u64,
    severity: Severity,
}

/// Where a rule stands with one series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    held: Held,
    window: Window,
}

/// What a rule saw when its condition changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossing {
    /// The change.
    pub change: Change,
    /// The number that was compared, if it was a number that decided.
    pub value: Option<f64>,
}

impl Rule {
    /// Checks a rule.
    ///
    /// # Errors
    /// [`Invalid`] for the first field that makes no sense.
    pub fn new(draft: RuleSettings) -> Result<Self, Invalid> {
        let clear = clear_of(&draft)?;
        let at_least = |field: &str, length: u64| match length {
            FLOOR.. => Ok(length),
            _ => Err(Invalid::new(field, "is under 5s")),
        };
        let pending = at_least("for", draft.pending.unwrap_or(MINUTE))?;
        let keep = at_least("keep", draft.keep.unwrap_or(5 * MINUTE))?;
        let window = window_of(&draft)?;
        if let Some((bad, all)) = draft.of {
            if bad == 0 || bad > all || all > OF_MOST {
                return Err(Invalid::new(
                    "of",
                    format!("is {bad} of {all}; the first is 1 to the second, which is at most {OF_MOST}"),
                ));
            }
            if draft.aggregate != Aggregate::Last {
                return Err(Invalid::new("of", "counts readings, so it goes with the last reading only"));
            }
        }
        if draft.id.trim().is_empty() {
            return Err(Invalid::new("id", "is blank"));
        }
        let severity = draft.severity.unwrap_or(draft.kind.line().severity);
        Ok(Self { clear, hold: Hold { pending, keep }, window, severity, draft })
    }

    /// What the owner wrote.
    pub fn draft(&self) -> &RuleSettings {
        &self.draft
    }

    /// How bad what it opens is.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// Whether it is about this series.
    pub fn watches(&self, component: &Component, signal: &Signal, labels: &Labels) -> bool {
        let draft = &self.draft;
        draft.signal == *signal
            && draft.component.as_ref().is_none_or(|wanted| wanted == component)
            && draft.labels.iter().all(|(key, value)| labels.get(key) == Some(value.as_str()))
    }

    /// Takes one input.
    pub fn step(&self, watch: &mut Watch, input: Input) -> Option<Crossing> {
        match input {
            Input::Reading(reading) => self.read(watch, reading),
            Input::Late(reading) => {
                // A correction of the window that is still open; the next reading in order decides with it.
                if let Some(value) = reading.value().filter(|_| watch.window.reaches(reading.at())) {
                    watch.window.add(reading.at(), value);
                }
                None
            }
            Input::Missing(at) => Hold::missing(&mut watch.held, at).map(|change| Crossing { change, value: None }),
        }
    }

    fn read(&self, watch: &mut Watch, reading: Reading) -> Option<Crossing> {
        let number = reading.value().and_then(|value| {
            watch.window.add(reading.at(), value);
            watch.window.trim(reading.at(), self.window, self.least());
            watch.window.number(self.draft.aggregate)
        });
        let sight = number.map_or(Sight::Unknown, |number| self.sight(&watch.window, number));
        let doubt = if reading.is_fresh() { 0 } else { LOOK_BACK };
        let change = self.hold.step(&mut watch.held, reading.at(), sight, doubt)?;
        Some(Crossing { change, value: number })
    }

    fn least(&self) -> usize {
        self.draft.of.map_or(1, |(_, all)| usize::from(all))
    }

    fn sight(&self, window: &Window, number: f64) -> Sight {
        let Some((bad, all)) = self.draft.of else { return self.judge(number) };
        let all = usize::from(all);
        let judged = || window.newest(all).map(|value| self.judge(value));
        let out = judged().filter(|sight| *sight == Sight::Bad).count();
        let unwell = judged().filter(|sight| *sight != Sight::Good).count();
        match usize::from(bad) {
            bad if out >= bad => Sight::Bad,
            bad if unwell >= bad => Sight::Between,
            _ => Sight::Good,
        }
    }

    fn judge(&self, number: f64) -> Sight {
        let (bad, good) = match self.draft.bound {
            Bound::Above(bound) => (number > bound, number <= self.clear),
            Bound::Below(bound) => (number < bound, number >= self.clear),
        };
        match (bad, good) {
            (true, _) => Sight::Bad,
            (false, true) => Sight::Good,
            (false, false) => Sight::Between,
        }
    }
}

impl Watch {
    /// Where it stands.
    pub fn condition(&self) -> Condition {
        self.held.condition()
    }

    /// When a rule of this series fires, the value that is compared then.
    pub fn number(&self, aggregate: Aggregate) -> Option<f64> {
        self.window.number(aggregate)
    }
}

fn clear_of(draft: &RuleSettings) -> Result<f64, Invalid> {
    let (field, bound) = match draft.bound {
        Bound::Above(bound) => ("above", bound),
        Bound::Below(bound) => ("below", bound),
    };
    let clear = draft.clear.unwrap_or(bound);
    if !bound.is_finite() {
        return Err(Invalid::new(field, "is not a finite number"));
    }
    let beyond = match draft.bound {
        Bound::Above(bound) => clear > bound,
        Bound::Below(bound) => clear < bound,
    };
    if beyond || !clear.is_finite() {
        return Err(Invalid::new("clear", "is beyond the bound, so that it could fire and clear at once"));
    }
    Ok(clear)
}

fn window_of(draft: &RuleSettings) -> Result<u64, Invalid> {
    if let Aggregate::Quantile(share) = draft.aggregate {
        if !(0.0..=1.0).contains(&share) {
            return Err(Invalid::new("aggregate", "is a quantile outside of 0 to 1"));
        }
    }
    let Some(window) = draft.window else {
        return match draft.aggregate {
            Aggregate::Last => Ok(0),
            _ => Err(Invalid::new("window", "is missing; an aggregate is taken over a window")),
        };
    };
    match window {
        _ if draft.aggregate == Aggregate::Last => Err(Invalid::new("window", "goes with an aggregate only")),
        ..FLOOR => Err(Invalid::new("window", "is under 5s")),
        _ if window > LONGEST => Err(Invalid::new("window", "is over 24h")),
        _ if draft.every.is_some_and(|every| window < every.saturating_mul(2)) => {
            Err(Invalid::new("window", "is shorter than two intervals of its signal, so it never holds two readings"))
        }
        _ => Ok(window),
    }
}

/// The moment of a change, for callers that only want that.
impl Crossing {
    /// When.
    pub fn at(&self) -> Moment {
        self.change.at
    }
}

#[cfg(test)]
pub(crate) mod tests;
