//! When a person is reminded of what waits for them: every half hour, three times, then silence (S54).

use sanare_core::service::Moment;
use sanare_core::service::moment::MINUTE;
use serde::{Deserialize, Serialize};

const EVERY: u64 = 30 * MINUTE;
const REMINDERS: u8 = 3;

/// Since when a person was told last of what waits for them, and how often they were reminded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiting {
    last: Moment,
    reminders: u8,
}

impl Waiting {
    /// It was told at this moment.
    pub fn told(at: Moment) -> Self {
        Self { last: at, reminders: 0 }
    }

    /// Which reminder goes out now, from 1. Those that were due while nobody could send them are not made up for.
    pub fn remind(&mut self, now: Moment) -> Option<u8> {
        if self.is_over() || now.since(self.last) < EVERY {
            return None;
        }
        self.last = now;
        self.reminders += 1;
        Some(self.reminders)
    }

    /// Whether nobody is reminded any more.
    pub fn is_over(&self) -> bool {
        self.reminders >= REMINDERS
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::service::Moment;
    use sanare_core::service::moment::MINUTE;

    use super::Waiting;

    fn at(minute: u64) -> Moment {
        Moment::from_micros((1_000 + minute) * MINUTE)
    }

    #[test]
    fn three_reminders_and_then_silence() {
        let mut waiting = Waiting::told(at(0));
        let reminded: Vec<(u64, u8)> =
            (0..1_000).filter_map(|minute| waiting.remind(at(minute)).map(|number| (minute, number))).collect();
        assert_eq!(reminded, [(30, 1), (60, 2), (90, 3)]);
        assert!(waiting.is_over());
    }

    #[test]
    fn what_was_due_while_nobody_ran_is_not_made_up_for() {
        let mut waiting = Waiting::told(at(0));
        assert_eq!(waiting.remind(at(500)), Some(1));
        assert_eq!((waiting.remind(at(500)), waiting.remind(at(529))), (None, None));
        assert_eq!(waiting.remind(at(530)), Some(2));
        // A clock that goes back hurries nobody.
        assert_eq!(waiting.remind(at(100)), None);
    }
}
