//! The newest readings of a signal and what a rule makes of them.

use sanare_core::service::Moment;
use sanare_core::service::config::Aggregate;
use sanare_core::service::moment::SECOND;
use serde::{Deserialize, Serialize};

/// Readings that a window holds; of more, the newest count.
pub const HELD: usize = 200;

/// Readings in the order of their times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window(Vec<(u64, f64)>);

impl Window {
    /// Takes a reading into its place by time; of one moment the first stands.
    pub fn add(&mut self, at: Moment, value: f64) {
        let after = self.0.partition_point(|(time, _)| *time < at.micros());
        if self.0.get(after).is_some_and(|(time, _)| *time == at.micros()) {
            return;
        }
        self.0.insert(after, (at.micros(), value));
        if self.0.len() > HELD {
            self.0.remove(0);
        }
    }

    /// Forgets what is `length` or more before `end`, but keeps the newest `least`.
    pub fn trim(&mut self, end: Moment, length: u64, least: usize) {
        let start = end.minus(length).micros();
        let old = self.0.iter().take_while(|(time, _)| *time <= start).count();
        let spare = self.0.len().saturating_sub(least);
        self.0.drain(..old.min(spare));
    }

    /// The newest so many numbers.
    pub fn newest(&self, count: usize) -> impl Iterator<Item = f64> {
        self.0.iter().rev().take(count).map(|(_, value)| *value)
    }

    /// Whether it still holds what was read at that moment or before.
    pub fn reaches(&self, at: Moment) -> bool {
        self.0.first().is_some_and(|(time, _)| *time <= at.micros())
    }

    /// One number of all; none where there are too few readings: two for anything but the last.
    pub fn number(&self, aggregate: Aggregate) -> Option<f64> {
        let values = || self.0.iter().map(|(_, value)| *value);
        if aggregate != Aggregate::Last && self.0.len() < 2 {
            return None;
        }
        let number = match aggregate {
            Aggregate::Last => values().next_back()?,
            Aggregate::Mean => mean(values()),
            Aggregate::Max => values().fold(f64::NEG_INFINITY, f64::max),
            Aggregate::Min => values().fold(f64::INFINITY, f64::min),
            Aggregate::Rate => self.rate()?,
            Aggregate::Quantile(share) => quantile(values().collect(), share)?,
        };
        number.is_finite().then_some(number)
    }

    fn rate(&self) -> Option<f64> {
        let ((first, _), (last, _)) = (self.0.first()?, self.0.last()?);
        let grown: f64 = self.0.windows(2).map(|pair| growth(pair[0].1, pair[1].1)).sum();
        let seconds = last.saturating_sub(*first) as f64 / SECOND as f64;
        (seconds > 0.0).then_some(grown / seconds)
    }
}

/// How much a counter has grown: one that fell was reset, and stands where it has come to since.
pub fn growth(before: f64, after: f64) -> f64 {
    if after >= before { after - before } else { after.max(0.0) }
}

/// Each number is divided first, so that large ones do not run over.
fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    values.map(|value| value / count).sum()
}

/// Linear interpolation between order statistics, the seventh definition of Hyndman and Fan (1996).
fn quantile(mut values: Vec<f64>, share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let place = share * (values.len().checked_sub(1)?) as f64;
    let (below, above) = (*values.get(place.floor() as usize)?, *values.get(place.ceil() as usize)?);
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use sanare_core::service::Moment;

    use sanare_core::service::config::Aggregate;

    use super::Window;

    fn check(readings: &[(u64, f64)], aggregate: Aggregate) -> Option<f64> {
        let mut window = Window::default();
        for (second, value) in readings {
            window.add(Moment::from_millis(second * 1_000), *value);
        }
        window.number(aggregate)
    }

    #[test]
    fn numbers_of_a_window() {
        let readings = [(10, 4.0), (30, 2.0), (20, 8.0), (40, 6.0), (40, 99.0)];
        for (aggregate, expected) in [
            (Aggregate::Last, 6.0),
            (Aggregate::Mean, 5.0),
            (Aggregate::Max, 8.0),
            (Aggregate::Min, 2.0),
            (Aggregate::Quantile(0.5), 5.0),
            (Aggregate::Quantile(0.25), 3.5),
            (Aggregate::Quantile(1.0), 8.0),
        ] {
            assert_eq!(check(&readings, aggregate), Some(expected), "{aggregate:?}");
        }
        assert_eq!(check(&readings[..1], Aggregate::Mean), None, "one reading has no mean");
        assert_eq!(check(&[], Aggregate::Last), None);
        assert_eq!(check(&[(0, 1e308), (1, 1e308)], Aggregate::Mean), Some(1e308));
        assert_eq!(check(&[(0, -1.7e308), (1, 1.7e308)], Aggregate::Quantile(0.5)), None, "never infinite");
    }

    #[test]
    fn a_rate_survives_a_reset() {
        assert_eq!(check(&[(0, 100.0), (10, 120.0), (20, 140.0)], Aggregate::Rate), Some(2.0));
        assert_eq!(check(&[(0, 100.0), (10, 120.0), (20, 20.0)], Aggregate::Rate), Some(2.0));
        assert_eq!(check(&[(0, 100.0), (10, 100.0)], Aggregate::Rate), Some(0.0));
    }

    #[test]
    fn a_window_forgets_and_has_a_bound() {
        let mut window = Window::default();
        for second in 0..300_u64 {
            window.add(Moment::from_millis(second * 1_000), f64::from(u32::try_from(second).unwrap_or(0)));
        }
        assert_eq!(window.number(Aggregate::Min), Some(100.0));
        window.trim(Moment::from_millis(299_000), 10_000_000, 0);
        assert_eq!(window.number(Aggregate::Min), Some(290.0));
        window.trim(Moment::from_millis(900_000), 10_000_000, 3);
        assert_eq!(window.newest(9).collect::<Vec<_>>(), [299.0, 298.0, 297.0]);
    }
}
