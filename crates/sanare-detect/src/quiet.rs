//! When a person is told: once for each step that a person cares about, three reminders, then silence (S54).

use sanare_core::service::Moment;
use sanare_core::service::moment::MINUTE;
use serde::{Deserialize, Serialize};

const EVERY: u64 = 30 * MINUTE;
const REMINDERS: u8 = 3;

/// A step that a person cares about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occasion {
    /// It is theirs now.
    HandedOver,
    /// They are asked.
    ApprovalNeeded,
    /// It is well again after it was handed over.
    Healed,
}

/// What was told of one incident.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    occasions: Vec<Occasion>,
    /// What waits for a person, since when it was last told, and how often they were reminded.
    open: Option<(Occasion, u64, u8)>,
}

impl Told {
    /// Whether a message goes out now.
    pub fn tell(&mut self, occasion: Occasion, at: Moment) -> bool {
        let handed_over = self.occasions.contains(&Occasion::HandedOver);
        if self.occasions.contains(&occasion) || (occasion == Occasion::Healed && !handed_over) {
            return false;
        }
        self.occasions.push(occasion);
        self.open = (occasion != Occasion::Healed).then_some((occasion, at.micros(), 0));
        true
    }

    /// A person has answered or taken it.
    pub fn answered(&mut self) {
        self.open = None;
    }

    /// What a person is reminded of now, if of anything.
    pub fn remind(&mut self, now: Moment) -> Option<Occasion> {
        let (occasion, last, count) = self.open?;
        if now.micros().saturating_sub(last) < EVERY {
            return None;
        }
        self.open = (count + 1 < REMINDERS).then_some((occasion, now.micros(), count + 1));
        Some(occasion)
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::service::Moment;
    use sanare_core::service::moment::MINUTE;

    use super::{Occasion, Told};

    fn at(minute: u64) -> Moment {
        Moment::from_micros((1_000 + minute) * MINUTE)
    }

    #[test]
    fn each_step_is_told_once() {
        let mut told = Told::default();
        assert!(!told.tell(Occasion::Healed, at(0)), "what nobody was told of heals in silence");
        assert!(told.tell(Occasion::ApprovalNeeded, at(0)));
        assert!(!told.tell(Occasion::ApprovalNeeded, at(1)));
        assert!(told.tell(Occasion::HandedOver, at(2)));
        assert!(told.tell(Occasion::Healed, at(3)));
        assert!(!told.tell(Occasion::Healed, at(4)) && !told.tell(Occasion::HandedOver, at(4)));
        assert_eq!(told.remind(at(500)), None, "it is over");
    }

    #[test]
    fn three_reminders_and_then_silence() {
        let mut told = Told::default();
        told.tell(Occasion::HandedOver, at(0));
        let reminded: Vec<u64> = (1..1_000).filter(|minute| told.remind(at(*minute)).is_some()).collect();
        assert_eq!(reminded, [30, 60, 90]);
        let mut told = Told::default();
        told.tell(Occasion::ApprovalNeeded, at(0));
        assert_eq!(told.remind(at(30)), Some(Occasion::ApprovalNeeded));
        told.answered();
        assert_eq!(told.remind(at(60)), None);
    }
}
