//! Whether a signal is there: it stays away when its expected interval has passed three times without a reading (S33).
//!
//! Missing is never good: nothing here says that a service is well, only that nobody knows. A signal is there as long as
//! one of its series is; a replica that falls silent among others is not missing.

use sanare_core::service::Moment;
use sanare_core::service::moment::SECOND;
use serde::{Deserialize, Serialize};

use crate::reading::Reading;

/// Readings from which an interval is learned.
const LEARNED_FROM: usize = 20;
/// Readings in a row without a number that make a signal missing (S32).
const EMPTY: u8 = 3;

/// When a signal is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// The interval between two readings in microseconds; `None` to learn it from 20 readings.
    pub every: Option<u64>,
    /// So many intervals without one.
    pub times: u64,
    /// And at least so long.
    pub least: u64,
}

impl Default for Expect {
    fn default() -> Self {
        Self { every: None, times: 3, least: 90 * SECOND }
    }
}

/// The interval of one series, learned from the event times of its readings in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    last: u64,
    gaps: Vec<u64>,
    learned: Option<u64>,
}

/// What is known of a signal's coming.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presence {
    last: u64,
    every: Option<u64>,
    empty: u8,
    silent: bool,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The signal is missing from this moment on.
    Missing(Moment),
    /// It is there again.
    Back(Moment),
}

impl Interval {
    /// Takes the time of the next reading in order; the interval, as soon as it is known.
    pub fn learn(&mut self, at: Moment) -> Option<u64> {
        let last = std::mem::replace(&mut self.last, at.micros());
        if self.learned.is_none() && last > 0 {
            self.gaps.push(at.micros().saturating_sub(last));
            if self.gaps.len() + 1 == LEARNED_FROM {
                self.gaps.sort_unstable();
                self.learned = self.gaps.get(self.gaps.len() / 2).copied();
                self.gaps = Vec::new();
            }
        }
        self.learned
    }
}

impl Expect {
    /// How long a signal may stay away, once its interval is known.
    pub fn patience(&self, presence: &Presence) -> Option<u64> {
        let every = self.every.or(presence.every)?;
        Some(every.saturating_mul(self.times).max(self.least))
    }

    /// Time passed.
    pub fn tick(&self, presence: &mut Presence, now: Moment) -> Option<News> {
        let due = presence.last.saturating_add(self.patience(presence)?);
        if presence.last == 0 || presence.silent || now.micros() < due {
            return None;
        }
        let was = presence.is_missing();
        presence.silent = true;
        (!was).then_some(News::Missing(Moment::from_micros(due)))
    }
}

impl Presence {
    /// Whether it is missing.
    pub fn is_missing(&self) -> bool {
        self.silent || self.empty >= EMPTY
    }

    /// A reading came that is neither late nor backfill nor from the future.
    pub fn hear(&mut self, at: Moment, now: Moment) -> Option<News> {
        let was = self.is_missing();
        self.last = self.last.max(at.min(now).micros());
        self.silent = false;
        (was && !self.is_missing()).then_some(News::Back(now))
    }

    /// A reading left in order: three in a row without a number are a missing signal.
    pub fn read(&mut self, reading: Reading) -> Option<News> {
        let was = self.is_missing();
        self.empty = if reading.value().is_none() { self.empty.saturating_add(1) } else { 0 };
        match (was, self.is_missing()) {
            (false, true) => Some(News::Missing(reading.at())),
            (true, false) => Some(News::Back(reading.at())),
            _ => None,
        }
    }

    /// A series has learned its interval; the longest of a signal's series counts.
    pub fn teach(&mut self, every: u64) {
        self.every = Some(self.every.map_or(every, |known| known.max(every)));
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::service::Moment;
    use sanare_core::service::moment::SECOND;

    use super::{Expect, Interval, News, Presence};
    use crate::reading::Reading;

    fn at(second: u64) -> Moment {
        Moment::from_micros(1_000_000 * SECOND + second * SECOND)
    }

    #[test]
    fn a_signal_is_missed_after_three_intervals_and_not_before_ninety_seconds() {
        for (every, due) in [(10, 90), (30, 90), (31, 93), (600, 1_800)] {
            let expect = Expect { every: Some(every * SECOND), ..Expect::default() };
            let mut presence = Presence::default();
            assert_eq!(expect.tick(&mut presence, at(0)), None, "what never came is not missed");
            assert_eq!(presence.hear(at(0), at(0)), None);
            assert_eq!(expect.tick(&mut presence, at(due - 1)), None);
            assert_eq!(expect.tick(&mut presence, at(due + 7)), Some(News::Missing(at(due))), "every {every} s");
            assert_eq!(expect.tick(&mut presence, at(due + 500)), None, "told once");
            assert_eq!(presence.hear(at(due + 501), at(due + 501)), Some(News::Back(at(due + 501))));
        }
    }

    #[test]
    fn an_interval_is_learned_from_twenty_readings() {
        let (expect, mut interval, mut presence) = (Expect::default(), Interval::default(), Presence::default());
        for place in 0..20 {
            assert_eq!(
                interval.learn(at(place * 60 + place % 2)),
                (place == 19).then_some(interval.learned.unwrap_or(0))
            );
            presence.hear(at(place * 60), at(place * 60));
        }
        assert_eq!(expect.tick(&mut presence, at(100_000)), None, "unknown before it is taught");
        presence.teach(interval.learned.expect("learned"));
        presence.teach(10);
        assert_eq!(expect.tick(&mut presence, at(19 * 60 + 170)), None, "the longest counts");
        assert!(expect.tick(&mut presence, at(19 * 60 + 190)).is_some());
    }

    #[test]
    fn three_readings_without_a_number_are_a_missing_signal() {
        let mut presence = Presence::default();
        let mut told = Vec::new();
        let values = [1.0, f64::NAN, f64::INFINITY, 2.0, f64::NAN, f64::NAN, f64::NAN, f64::NAN, 3.0];
        for (place, value) in values.iter().enumerate() {
            let now = at(place as u64 * 10);
            told.extend(presence.hear(now, now));
            told.extend(presence.read(Reading::new(now, *value)));
        }
        assert_eq!(told, [News::Missing(at(60)), News::Back(at(80))]);
    }

    #[test]
    fn a_reading_from_ahead_buys_no_time() {
        let expect = Expect { every: Some(30 * SECOND), ..Expect::default() };
        let mut presence = Presence::default();
        presence.hear(at(299), at(0));
        assert_eq!(expect.tick(&mut presence, at(90)), Some(News::Missing(at(90))));
    }
}
