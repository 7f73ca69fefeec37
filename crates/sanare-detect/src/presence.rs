//! Whether a signal is there: it stays away when its expected interval has passed three times without a reading (S33).
//!
//! Missing is never good: nothing here says that a service is well, only that nobody knows.

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
    /// The interval between two readings in microseconds; `None` to learn it from the first 20.
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

/// What is known of a signal's coming.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presence {
    last: u64,
    gaps: Vec<u64>,
    learned: Option<u64>,
    empty: u8,
    missing: bool,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The signal is missing; it was last heard of at this moment.
    Missing(Moment),
    /// It is there again.
    Back,
}

impl Expect {
    /// How long a signal may stay away, once its interval is known.
    pub fn patience(&self, presence: &Presence) -> Option<u64> {
        let every = self.every.or(presence.learned)?;
        Some(every.saturating_mul(self.times).max(self.least))
    }

    /// A reading arrived: one that waits for the watermark, not one that is late, backfill or from the future.
    pub fn arrive(&self, presence: &mut Presence, reading: Reading, now: Moment) -> Option<News> {
        presence.learn(now);
        presence.last = presence.last.max(now.micros());
        if reading.value().is_none() {
            presence.empty = presence.empty.saturating_add(1);
            let missed = presence.empty >= EMPTY && !presence.missing;
            return missed.then(|| presence.miss());
        }
        presence.empty = 0;
        std::mem::take(&mut presence.missing).then_some(News::Back)
    }

    /// Time passed.
    pub fn tick(&self, presence: &mut Presence, now: Moment) -> Option<News> {
        let patience = self.patience(presence)?;
        let away = now.micros().saturating_sub(presence.last);
        (presence.last > 0 && !presence.missing && away >= patience).then(|| presence.miss())
    }
}

impl Presence {
    /// Whether it is missing.
    pub fn is_missing(&self) -> bool {
        self.missing
    }

    fn miss(&mut self) -> News {
        self.missing = true;
        News::Missing(Moment::from_micros(self.last))
    }

    fn learn(&mut self, now: Moment) {
        if self.learned.is_some() || self.last == 0 {
            return;
        }
        self.gaps.push(now.micros().saturating_sub(self.last));
        if self.gaps.len() + 1 == LEARNED_FROM {
            self.gaps.sort_unstable();
            self.learned = self.gaps.get(self.gaps.len() / 2).copied();
            self.gaps = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::service::Moment;
    use sanare_core::service::moment::SECOND;

    use super::{Expect, News, Presence};
    use crate::reading::Reading;

    fn at(second: u64) -> Moment {
        Moment::from_micros(1_000_000 * SECOND + second * SECOND)
    }

    fn arrive(expect: Expect, presence: &mut Presence, second: u64, value: f64) -> Option<News> {
        expect.arrive(presence, Reading::new(at(second), value), at(second))
    }

    #[test]
    fn a_signal_is_missed_after_three_intervals_and_not_before_ninety_seconds() {
        for (every, due) in [(10, 90), (30, 90), (31, 93), (600, 1_800)] {
            let expect = Expect { every: Some(every * SECOND), ..Expect::default() };
            let mut presence = Presence::default();
            assert_eq!(expect.tick(&mut presence, at(0)), None, "what never came is not missed");
            assert_eq!(arrive(expect, &mut presence, 0, 1.0), None);
            assert_eq!(expect.tick(&mut presence, at(due - 1)), None);
            assert_eq!(expect.tick(&mut presence, at(due)), Some(News::Missing(at(0))), "every {every} s");
            assert_eq!(expect.tick(&mut presence, at(due + 500)), None, "told once");
            assert_eq!(arrive(expect, &mut presence, due + 501, 1.0), Some(News::Back));
        }
    }

    #[test]
    fn an_interval_is_learned_from_twenty_readings() {
        let expect = Expect::default();
        let mut presence = Presence::default();
        for place in 0..19 {
            arrive(expect, &mut presence, place * 60, 1.0);
        }
        assert_eq!(expect.tick(&mut presence, at(100_000)), None, "19 readings teach nothing");
        arrive(expect, &mut presence, 19 * 60, 1.0);
        assert_eq!(expect.tick(&mut presence, at(19 * 60 + 179)), None);
        assert_eq!(expect.tick(&mut presence, at(19 * 60 + 180)), Some(News::Missing(at(19 * 60))));
    }

    #[test]
    fn three_readings_without_a_number_are_a_missing_signal() {
        let expect = Expect::default();
        let mut presence = Presence::default();
        let mut told = Vec::new();
        for (place, value) in [1.0, f64::NAN, f64::INFINITY, 2.0, f64::NAN, f64::NAN, f64::NAN, 3.0].iter().enumerate()
        {
            told.extend(arrive(expect, &mut presence, place as u64 * 10, *value));
        }
        assert_eq!(told, [News::Missing(at(60)), News::Back]);
    }
}
