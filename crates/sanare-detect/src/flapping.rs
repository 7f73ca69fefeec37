//! Symptoms that come and go: flapping, healed and ill again, chronic (S51).

use sanare_core::service::moment::{DAY, MINUTE};
use sanare_core::service::{IncidentFlag, Moment};
use serde::{Deserialize, Serialize};

/// Changes within this that are flapping, and how long it has to be quiet to be over.
const WITHIN: u64 = 30 * MINUTE;
const CHANGES: usize = 4;
/// Healed is stable after this.
const STABLE: u64 = 30 * MINUTE;
/// Heals within a day, past which it is chronic.
const HEALS: usize = 3;

/// What came of one fingerprint so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    ill: bool,
    changes: Vec<u64>,
    heals: Vec<u64>,
    flapping: bool,
    told: bool,
}

/// What to do with a symptom that fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Whether it is the incident that was healed a while ago, open again.
    pub reopened: bool,
    /// Whether the attempt that healed it counts as failed: it had not stayed well.
    pub attempt_failed: bool,
    /// Whether a new attempt may come of it.
    pub may_attempt: bool,
    /// Whether this is the one message that it heals and falls ill again.
    pub tell: bool,
}

impl History {
    /// The symptom fires.
    pub fn fires(&mut self, at: Moment) -> Opening {
        self.change(at, true);
        let last = self.heals.last().copied();
        let reopened = last.is_some_and(|healed| at.micros().saturating_sub(healed) < STABLE) || self.flapping;
        let tell = self.flapping && !std::mem::replace(&mut self.told, self.flapping);
        Opening {
            reopened,
            attempt_failed: last.is_some_and(|healed| at.micros().saturating_sub(healed) < STABLE),
            may_attempt: !self.flapping,
            tell,
        }
    }

    /// The symptom is gone. `healed` says that an act of ours was verified.
    pub fn clears(&mut self, at: Moment, healed: bool) {
        // Told again, it is no second heal.
        if self.change(at, false) && healed {
            self.heals.push(at.micros());
            let spare = self.heals.len().saturating_sub(HEALS + 1);
            self.heals.drain(..spare);
        }
    }

    /// Time passed: half an hour without a change ends flapping. True when an incident that was kept open may close.
    pub fn settles(&mut self, now: Moment) -> bool {
        let last = self.changes.last().copied().unwrap_or(0);
        let quiet = now.micros().saturating_sub(last) >= WITHIN;
        if quiet && self.flapping {
            (self.flapping, self.told) = (false, false);
            self.changes.clear();
            return !self.ill;
        }
        false
    }

    /// What marks its incident.
    pub fn flags(&self, now: Moment) -> Vec<IncidentFlag> {
        let heals = self.heals.iter().filter(|healed| now.micros().saturating_sub(**healed) < DAY).count();
        let flapping = self.flapping.then_some(IncidentFlag::Flapping);
        let chronic = (heals > HEALS).then_some(IncidentFlag::Chronic);
        flapping.into_iter().chain(chronic).collect()
    }

    /// Whether nothing of it matters any more: it may be forgotten.
    pub fn is_over(&self, now: Moment) -> bool {
        let recent = |all: &[u64], within: u64| all.iter().any(|at| now.micros().saturating_sub(*at) < within);
        !self.ill && !self.flapping && !recent(&self.changes, WITHIN) && !recent(&self.heals, DAY)
    }

    fn change(&mut self, at: Moment, ill: bool) -> bool {
        if self.ill == ill {
            return false;
        }
        self.ill = ill;
        self.changes.retain(|change| at.micros().saturating_sub(*change) < WITHIN);
        self.changes.push(at.micros());
        let spare = self.changes.len().saturating_sub(CHANGES);
        self.changes.drain(..spare);
        self.flapping |= self.changes.len() == CHANGES;
        true
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::service::moment::{DAY, HOUR, MINUTE};
    use sanare_core::service::{IncidentFlag, Moment};

    use super::{History, Opening};

    fn at(minute: u64) -> Moment {
        Moment::from_micros(20_000 * DAY + minute * MINUTE)
    }

    #[test]
    fn four_changes_in_half_an_hour_are_flapping() {
        let run = |gap: u64| {
            let mut history = History::default();
            for round in 0..2 {
                history.fires(at(round * 2 * gap));
                history.clears(at((round * 2 + 1) * gap), false);
            }
            (history.flags(at(4 * gap)), history)
        };
        assert_eq!(run(9).0, [IncidentFlag::Flapping]);
        assert_eq!(run(10).0, [], "the first change is half an hour old");
        let opening = |gap: u64| run(gap).1.fires(at(4 * gap));
        assert_eq!(opening(5), Opening { reopened: true, attempt_failed: false, may_attempt: false, tell: true });
        assert_eq!(opening(10), Opening { reopened: false, attempt_failed: false, may_attempt: true, tell: false });
        let mut history = run(5).1;
        assert!(!history.settles(at(15 + 29)));
        assert!(history.settles(at(15 + 30)), "half an hour of quiet, and it is well");
        assert_eq!(history.flags(at(50)), []);
        assert!(!history.settles(at(60)), "told once");
    }

    #[test]
    fn ill_again_soon_after_a_heal_is_the_same_incident_and_a_failed_attempt() {
        let after = |minutes: u64| {
            let mut history = History::default();
            history.fires(at(0));
            history.clears(at(1), true);
            history.fires(at(1 + minutes))
        };
        let opening = Opening { reopened: true, attempt_failed: true, may_attempt: true, tell: false };
        assert_eq!(after(29), opening);
        assert_eq!(after(30), Opening { reopened: false, attempt_failed: false, ..opening });
    }

    #[test]
    fn more_than_three_heals_in_a_day_are_chronic() {
        let mut history = History::default();
        for round in 0..4_u64 {
            assert_eq!(history.flags(at(round * 300)), [], "{round}");
            history.fires(at(round * 300));
            history.clears(at(round * 300 + 1), true);
        }
        assert_eq!(history.flags(at(901)), [IncidentFlag::Chronic]);
        let a_day_later = Moment::from_micros(at(1).micros() + DAY);
        assert_eq!(history.flags(a_day_later), []);
    }

    /// A service that is ill every five minutes for a day: whoever follows these answers, with three attempts an
    /// incident, acts at most three times and tells once.
    #[test]
    fn ill_every_five_minutes_for_a_day() {
        let mut history = History::default();
        let (mut acts, mut told, mut attempts) = (0, 0, 0);
        for round in 0..(24 * HOUR / MINUTE / 5) {
            let opening = history.fires(at(round * 5));
            if !opening.reopened {
                attempts = 0;
            }
            told += u32::from(opening.tell);
            let acts_now = opening.may_attempt && attempts < 3;
            attempts += u32::from(acts_now);
            acts += u32::from(acts_now);
            history.clears(at(round * 5 + 2), acts_now);
            history.settles(at(round * 5 + 3));
        }
        assert!(acts <= 3, "{acts} acts");
        assert_eq!(told, 1);
    }
}
