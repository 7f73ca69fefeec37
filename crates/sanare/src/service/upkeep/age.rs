//! The time by which what is kept grows old (S119). It goes on with the wall clock, but a gap that nobody saw pass counts for a
//! week at most, and for no more than half of the shortest time that anything is kept: whether a machine was off or its clock
//! was set cannot be told after a restart, and what was forgotten does not come back. It never goes back.

use sanare_core::port::Keeping;
use sanare_core::service::Moment;
use sanare_core::service::moment::DAY;

/// So much of a gap counts, in microseconds.
const COUNTS: u64 = 7 * DAY;

/// How old things are, as it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Age {
    /// What the wall clock told when it was looked at.
    wall: Moment,
    /// By what things grow old.
    at: Moment,
}

/// A gap that counts for less than the clock says, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// By the wall clock.
    pub passed: u64,
    /// What of it counts.
    pub counted: u64,
}

impl Age {
    /// The first time.
    pub fn new(now: Moment) -> Self {
        Self { wall: now, at: now }
    }

    pub fn at(&self) -> Moment {
        self.at
    }

    /// Goes on. Of the time since so much is known to have passed, by a clock that nobody can set.
    pub fn goes_on(self, now: Moment, known: u64, keeping: &Keeping) -> (Self, Option<Gap>) {
        let shortest = keeping.observations.min(keeping.minutes).min(keeping.incidents);
        let most = COUNTS.min(shortest / 2).max(known);
        // Nothing where it was set back.
        let passed = now.since(self.wall);
        let counted = passed.min(most);
        // Where it was counted too far before, it waits for the wall clock.
        let at = self.at.max(self.at.plus(counted).min(now));
        let gap = (passed > counted).then_some(Gap { passed, counted });
        (Self { wall: now, at }, gap)
    }

    /// As a text.
    pub fn text(&self) -> String {
        format!("{} {}", self.wall.micros(), self.at.micros())
    }

    /// From a text.
    pub fn parse(text: &str) -> Option<Self> {
        let (wall, at) = text.split_once(' ')?;
        Some(Self { wall: Moment::from_micros(wall.parse().ok()?), at: Moment::from_micros(at.parse().ok()?) })
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::port::Keeping;
    use sanare_core::service::Moment;
    use sanare_core::service::moment::{DAY, HOUR};

    use super::{Age, Gap};

    const START: u64 = 20_000 * DAY;

    /// Days on the wall, one after the other, and how old things are by them, in days since the start.
    fn days(keeping: &Keeping, walls: &[i64]) -> Vec<u64> {
        let mut age = Age::new(Moment::from_micros(START));
        let each = walls.iter().map(|day| {
            let now = Moment::from_micros(START.saturating_add_signed(day * DAY as i64));
            age = Age::parse(&age.goes_on(now, 0, keeping).0.text()).unwrap();
            age.at().micros().saturating_sub(START) / DAY
        });
        each.collect()
    }

    #[test]
    fn a_clock_that_jumped_makes_nothing_old() {
        let keeping = Keeping::default();
        assert_eq!(days(&keeping, &[1, 2, 9]), [1, 2, 9], "time that passes counts, a week that it was off too");
        assert_eq!(days(&keeping, &[1, 3_651, 3_652]), [1, 8, 9], "ten years at once count for a week");
        // Set right again: it waits until the wall clock is there, and does not go back.
        assert_eq!(days(&keeping, &[1, 3_651, 1, 5, 8, 9]), [1, 8, 8, 8, 8, 9]);
        assert_eq!(days(&keeping, &[1, -20_000, -19_999, 2, 3]), [1, 1, 1, 2, 3], "and one that was at its beginning");
        let short = Keeping { observations: DAY, ..keeping };
        assert_eq!(days(&short, &[1, 2, 3]), [0, 1, 1], "half of the shortest time");
    }

    #[test]
    fn what_is_known_to_have_passed_counts_and_what_does_not_is_told() {
        let (age, keeping) = (Age::new(Moment::from_micros(START)), Keeping::default());
        let later = Moment::from_micros(START + 40 * DAY);
        let (whole, gap) = age.goes_on(later, 40 * DAY, &keeping);
        assert_eq!((whole.at(), gap), (later, None));
        let (part, gap) = age.goes_on(later, HOUR, &keeping);
        assert_eq!(gap, Some(Gap { passed: 40 * DAY, counted: 7 * DAY }));
        assert_eq!(part.at().since(age.at()), 7 * DAY);
    }
}
