//! Order restored: readings of one signal leave in the order of their event times, once the watermark has passed them.
//!
//! What comes behind the watermark is late, over a day old backfill, ahead of our clock future (S31). Of two readings of
//! one moment the first stands (S32).

use sanare_core::service::moment::{DAY, MINUTE};
use sanare_core::service::{Flag, Moment};
use serde::{Deserialize, Serialize};

use crate::reading::Reading;

/// Readings that wait for the watermark; past this the oldest leave early, and the watermark with them.
const WAITING: usize = 150;
/// Moments behind the watermark that are still known, so that a restated reading is recognised.
const KNOWN: usize = 64;
/// Further ahead than this is the future.
const AHEAD: u64 = 5 * MINUTE;
/// Further behind than this is late, whatever the order.
const BEHIND: u64 = 2 * MINUTE;

/// How long a watermark lags behind our clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// In microseconds. 0 for a signal that is pulled or probed by us, which has its order by nature: its readings leave as
    /// they come, and the watermark is the newest of them.
    pub lag: u64,
}

impl Default for Order {
    fn default() -> Self {
        Self { lag: 2 * MINUTE }
    }
}

/// The readings of one signal on their way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    watermark: u64,
    newest: u64,
    // INVARIANT: ascending by time, no time twice.
    waiting: Vec<Kept>,
    known: Vec<(u64, Option<f64>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    at: u64,
    value: Option<f64>,
    fresh: bool,
}

/// Where an arriving reading belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It waits for the watermark.
    InOrder,
    /// The same, though a newer one came before it.
    OutOfOrder,
    /// Behind the watermark: it corrects windows that are still open, and decides nothing.
    Late,
    /// Over 24 hours old: stored, and nothing else.
    Backfill,
    /// Over 5 minutes ahead: stored, no proof of freshness.
    Future,
    /// Another value for a moment that has one: the first stands.
    Restated,
    /// The same reading again.
    Again,
    /// Over 24 hours ahead: not stored.
    Refused,
}

impl Place {
    /// What intake notes on the observation.
    pub fn flag(self) -> Option<Flag> {
        match self {
            Self::OutOfOrder => Some(Flag::OutOfOrder),
            Self::Late => Some(Flag::Late),
            Self::Backfill => Some(Flag::Backfill),
            Self::Future => Some(Flag::Future),
            Self::Restated => Some(Flag::Restated),
            Self::InOrder | Self::Again | Self::Refused => None,
        }
    }

    /// Whether it shows that its signal is alive.
    pub fn is_arrival(self) -> bool {
        matches!(self, Self::InOrder | Self::OutOfOrder)
    }
}

impl Order {
    /// What time has left behind, by our clock alone.
    fn passed(&self, now: Moment) -> Moment {
        if self.lag == 0 { Moment::default() } else { now.minus(self.lag) }
    }

    /// Takes a reading that arrived at `now`. `now` is a clock that does not jump (S34).
    pub fn admit(&self, line: &mut Line, reading: Reading, now: Moment) -> Place {
        line.advance(self.passed(now));
        let at = reading.at().micros();
        if at > now.micros().saturating_add(DAY) {
            return Place::Refused;
        }
        if at > now.micros().saturating_add(AHEAD) {
            return Place::Future;
        }
        if at.saturating_add(DAY) < now.micros() {
            return Place::Backfill;
        }
        if let Some(first) = line.value_at(at) {
            return if first == reading.value() { Place::Again } else { Place::Restated };
        }
        let behind = self.lag == 0 && at.saturating_add(BEHIND) < now.micros();
        if at < line.watermark || behind {
            line.remember(at, reading.value());
            return Place::Late;
        }
        let after = line.waiting.partition_point(|kept| kept.at < at);
        line.waiting.insert(after, Kept { at, value: reading.value(), fresh: reading.is_fresh() });
        let place = if at < line.newest { Place::OutOfOrder } else { Place::InOrder };
        line.newest = line.newest.max(at);
        place
    }

    /// The readings that the watermark has passed at `now`, in order.
    pub fn release(&self, line: &mut Line, now: Moment) -> Vec<Reading> {
        line.advance(self.passed(now));
        let passed = match self.lag {
            0 => line.waiting.len(),
            _ => line.waiting.partition_point(|kept| kept.at <= line.watermark),
        };
        let crowded = line.waiting.len().saturating_sub(WAITING);
        let leaving: Vec<Kept> = line.waiting.drain(..passed.max(crowded)).collect();
        for kept in &leaving {
            line.remember(kept.at, kept.value);
        }
        if let Some(last) = leaving.last() {
            // Nothing may enter before what has left.
            line.watermark = line.watermark.max(last.at.saturating_add(1));
        }
        leaving.into_iter().map(Kept::reading).collect()
    }
}

impl Kept {
    fn reading(self) -> Reading {
        let at = Moment::from_micros(self.at);
        let value = self.value.unwrap_or(f64::NAN);
        if self.fresh { Reading::new(at, value) } else { Reading::of_unknown_age(at, value) }
    }
}

impl Line {
    /// What is still open ends here.
    pub fn watermark(&self) -> Moment {
        Moment::from_micros(self.watermark)
    }

    /// Whether readings wait for it.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn advance(&mut self, to: Moment) {
        self.watermark = self.watermark.max(to.micros());
    }

    fn value_at(&self, at: u64) -> Option<Option<f64>> {
        let waiting = self.waiting.binary_search_by_key(&at, |kept| kept.at).ok();
        let waiting = waiting.and_then(|place| self.waiting.get(place)).map(|kept| kept.value);
        waiting.or_else(|| self.known.iter().find(|(known, _)| *known == at).map(|(_, value)| *value))
    }

    fn remember(&mut self, at: u64, value: Option<f64>) {
        if self.known.len() == KNOWN {
            self.known.remove(0);
        }
        self.known.push((at, value));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sanare_core::service::Moment;
    use sanare_core::service::moment::{DAY, HOUR, MINUTE, SECOND};

    use super::{Line, Order, Place};
    use crate::reading::Reading;

    const START: u64 = 20_000 * DAY;

    fn reading(at: u64, value: f64) -> Reading {
        Reading::new(Moment::from_micros(at), value)
    }

    #[test]
    fn each_age_has_its_place() {
        let now = Moment::from_micros(START);
        let place = |at: u64| {
            let mut line = Line::default();
            let place = Order::default().admit(&mut line, reading(at, 1.0), now);
            (place, Order::default().release(&mut line, now.plus(10 * MINUTE)).len())
        };
        assert_eq!(place(START), (Place::InOrder, 1));
        assert_eq!(place(START - 2 * MINUTE), (Place::InOrder, 1));
        assert_eq!(place(START - 2 * MINUTE - 1), (Place::Late, 0));
        assert_eq!(place(START - HOUR), (Place::Late, 0));
        assert_eq!(place(START - DAY), (Place::Late, 0));
        assert_eq!(place(START - DAY - 1), (Place::Backfill, 0));
        assert_eq!(place(START - 25 * HOUR), (Place::Backfill, 0));
        assert_eq!(place(START + 5 * MINUTE), (Place::InOrder, 1));
        assert_eq!(place(START + 10 * MINUTE), (Place::Future, 0));
        assert_eq!(place(START + DAY), (Place::Future, 0));
        assert_eq!(place(START + 2 * DAY), (Place::Refused, 0));
    }

    #[test]
    fn of_two_readings_of_one_moment_the_first_stands() {
        let order = Order::default();
        let mut line = Line::default();
        let now = Moment::from_micros(START);
        assert_eq!(order.admit(&mut line, reading(START, 1.0), now), Place::InOrder);
        assert_eq!(order.admit(&mut line, reading(START, 2.0), now), Place::Restated);
        assert_eq!(order.admit(&mut line, reading(START, 1.0), now), Place::Again);
        assert_eq!(order.admit(&mut line, reading(START, f64::NAN), now), Place::Restated);
        let later = now.plus(3 * MINUTE);
        assert_eq!(order.release(&mut line, later), [reading(START, 1.0)]);
        assert_eq!(order.admit(&mut line, reading(START, 2.0), later), Place::Restated, "also after it has left");
    }

    #[test]
    fn what_has_its_order_by_nature_leaves_at_once() {
        let order = Order { lag: 0 };
        let mut line = Line::default();
        let mut step = |second: u64, behind: u64| {
            let now = Moment::from_micros(START + second * SECOND);
            let place = order.admit(&mut line, reading(now.micros() - behind * SECOND, second as f64), now);
            (place, order.release(&mut line, now).len())
        };
        assert_eq!(step(100, 3), (Place::InOrder, 1), "an answer that took three seconds");
        assert_eq!(step(115, 60), (Place::Late, 0), "older than the one before");
        assert_eq!(step(230, 120), (Place::InOrder, 1));
        assert_eq!(step(900, 121), (Place::Late, 0), "a sample that was old when it was pulled");
    }

    #[test]
    fn a_clock_that_goes_back_moves_no_watermark() {
        let order = Order::default();
        let mut line = Line::default();
        order.admit(&mut line, reading(START, 1.0), Moment::from_micros(START));
        let mark = line.watermark();
        let old = reading(START - HOUR, 1.0);
        assert_eq!(order.admit(&mut line, old, Moment::from_micros(START - HOUR)), Place::Late);
        assert_eq!(line.watermark(), mark);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Whatever the order of arrival within the lag, the same readings leave in the same order.
        #[test]
        fn any_permutation_within_the_watermark_leaves_alike(
            readings in prop::collection::btree_map(0_u64..300, -5.0_f64..5.0, 1..120),
            delays in prop::collection::vec(0_u64..120, 120),
            quiet in any::<bool>(),
        ) {
            let order = Order::default();
            let mut arrivals: Vec<(u64, Reading)> = readings
                .iter()
                .zip(&delays)
                .map(|((second, value), delay)| (second + delay, reading(START + second * SECOND, *value)))
                .collect();
            arrivals.sort_by_key(|(arrival, _)| *arrival);
            let mut line = Line::default();
            let mut left = Vec::new();
            for (arrival, reading) in arrivals {
                let now = Moment::from_micros(START + arrival * SECOND);
                prop_assert!(order.admit(&mut line, reading, now).is_arrival());
                if !quiet {
                    left.extend(order.release(&mut line, now));
                }
            }
            left.extend(order.release(&mut line, Moment::from_micros(START + HOUR)));
            let expected: Vec<Reading> =
                readings.iter().map(|(second, value)| reading(START + second * SECOND, *value)).collect();
            prop_assert_eq!(left, expected);
        }

        #[test]
        fn what_waits_is_bounded(count in 1_u64..2_000) {
            let order = Order::default();
            let mut line = Line::default();
            let now = Moment::from_micros(START);
            for place in 0..count {
                order.admit(&mut line, reading(START + place, 0.1), now);
                order.release(&mut line, now);
            }
            prop_assert!(line.waiting.len() <= super::WAITING && line.known.len() <= super::KNOWN);
            let bytes = postcard::to_allocvec(&line).map(|bytes| bytes.len()).unwrap_or(usize::MAX);
            prop_assert!(bytes <= 4_096, "{} bytes", bytes);
        }
    }
}
