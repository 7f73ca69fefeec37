//! How a symptom becomes a condition: out of bounds for long enough to fire, within them for long enough to clear.

use sanare_core::service::{Condition, Moment};
use serde::{Deserialize, Serialize};

/// How long is long enough, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// From the first bad reading to firing.
    pub pending: u64,
    /// From the first good reading to cleared.
    pub keep: u64,
}

/// Where a condition stands, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    condition: Condition,
    since: u64,
}

impl Default for Held {
    fn default() -> Self {
        Self { condition: Condition::Cleared, since: 0 }
    }
}

/// What one reading says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Out of bounds.
    Bad,
    /// Not out of bounds, and not well either.
    Between,
    /// Well.
    Good,
    /// It does not say.
    Unknown,
}

/// A condition that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// When, by the event time of the reading that decided.
    pub at: Moment,
    /// What it was.
    pub from: Condition,
    /// What it is.
    pub to: Condition,
}

impl Held {
    /// The condition.
    pub fn condition(self) -> Condition {
        self.condition
    }

    /// Whether an incident is open on it.
    pub fn is_ill(self) -> bool {
        matches!(self.condition, Condition::Firing | Condition::Clearing)
    }

    fn turn(&mut self, at: Moment, to: Condition) -> Option<Change> {
        let from = std::mem::replace(&mut self.condition, to);
        self.since = at.micros();
        Some(Change { at, from, to })
    }
}

impl Hold {
    /// Takes what a reading at `at` says. A reading of unknown age has to be good for `doubt` longer before it clears.
    pub fn step(&self, held: &mut Held, at: Moment, sight: Sight, doubt: u64) -> Option<Change> {
        let lasted = at.micros().saturating_sub(held.since);
        match (held.condition, sight) {
            (Condition::Cleared, Sight::Bad) if self.pending == 0 => held.turn(at, Condition::Firing),
            (Condition::Cleared, Sight::Bad) => held.turn(at, Condition::Pending),
            (Condition::Pending, Sight::Bad) if lasted >= self.pending => held.turn(at, Condition::Firing),
            (Condition::Pending, Sight::Between | Sight::Good) => held.turn(at, Condition::Cleared),
            (Condition::Firing, Sight::Good) if self.keep == 0 && doubt == 0 => held.turn(at, Condition::Cleared),
            (Condition::Firing, Sight::Good) => held.turn(at, Condition::Clearing),
            (Condition::Clearing, Sight::Good) if lasted >= self.keep.saturating_add(doubt) => {
                held.turn(at, Condition::Cleared)
            }
            (Condition::Clearing, Sight::Bad | Sight::Between | Sight::Unknown) => held.turn(at, Condition::Firing),
            _ => None,
        }
    }

    /// The signal stays away: what was pending begins anew, what was clearing does not clear (S33).
    pub fn missing(held: &mut Held, at: Moment) -> Option<Change> {
        match held.condition {
            Condition::Pending => held.turn(at, Condition::Cleared),
            Condition::Clearing => held.turn(at, Condition::Firing),
            Condition::Firing | Condition::Cleared => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::service::Moment;

    use super::{Held, Hold, Sight};

    /// One letter a reading every ten seconds: Bad, between (`-`), Good, Unknown (`?`), `m` for missing. Answer: the
    /// condition after each.
    fn check(readings: &str, pending: u64, keep: u64) -> String {
        let hold = Hold { pending: pending * 1_000_000, keep: keep * 1_000_000 };
        let mut held = Held::default();
        let mut words = String::new();
        for (place, letter) in readings.chars().enumerate() {
            let at = Moment::from_micros(place as u64 * 10_000_000);
            let sight = match letter {
                'B' => Sight::Bad,
                'G' => Sight::Good,
                '-' => Sight::Between,
                _ => Sight::Unknown,
            };
            let change = if letter == 'm' { Hold::missing(&mut held, at) } else { hold.step(&mut held, at, sight, 0) };
            assert!(change.is_none_or(|change| change.to == held.condition() && change.from != change.to));
            words.push_str(match held.condition().word() {
                "cleared" => ".",
                "pending" => "p",
                "firing" => "F",
                _ => "c",
            });
        }
        words
    }

    #[test]
    fn tables_of_readings_and_conditions() {
        for (readings, pending, keep, expected) in [
            ("GBBBGG", 20, 20, ".ppFcc"),
            ("GBBBGGGG", 20, 20, ".ppFcc.."),
            ("BGBBGB", 20, 20, "p.pp.p"),
            ("BB-B", 20, 20, "pp.p"),
            ("BBBGG-GGG", 20, 20, "ppFccFcc."),
            ("BBBGG?GGGG", 20, 20, "ppFccFcc.."),
            ("B?B", 20, 20, "ppF"),
            ("B??", 20, 20, "ppp"),
            ("BBmBB", 20, 20, "pp.pp"),
            ("BBBGmGGGm", 20, 20, "ppFcFcc.."),
            ("BGBG", 0, 0, "F.F."),
            ("???", 0, 0, "..."),
        ] {
            assert_eq!(check(readings, pending, keep), expected, "{readings}");
        }
    }
}
