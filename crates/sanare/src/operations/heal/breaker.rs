//! The breaker: failures that were not healed rest, and repairs are counted over sliding windows (C118).

use sanare_core::incident::Incident;
use sanare_core::outcome::Reason;
use sanare_core::port::Store;
use sanare_core::port::store::{Bucket, Rest};
use sanare_core::settings::Settings;

use crate::report::Report;

const HOUR_MS: u64 = 60 * 60 * 1_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// The settings of `[heal.breaker]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Breaker {
    cooldown: u64,
    cooldown_max: u64,
    per_function: u64,
    per_hour: u64,
}

impl Breaker {
    /// As the settings have it; as they are by default where they are broken.
    pub(super) fn of(settings: Option<&Settings>) -> Self {
        let fallback = Self { cooldown: 600_000, cooldown_max: DAY_MS, per_function: 3, per_hour: 20 };
        settings.map_or(fallback, |settings| Self {
            cooldown: settings.number("heal.breaker.cooldown"),
            cooldown_max: settings.number("heal.breaker.cooldown_max"),
            per_function: settings.number("heal.breaker.repairs_per_function_per_day"),
            per_hour: settings.number("heal.breaker.heals_per_hour"),
        })
    }

    /// The budgets of which a repair takes a unit each.
    pub(super) fn buckets(&self, incident: &Incident) -> Vec<Bucket> {
        let function = format!("repairs of {} in {}", incident.function, incident.path);
        vec![
            Bucket { name: function, window: DAY_MS, limit: self.per_function, units: 1 },
            Bucket { name: "heals".to_owned(), window: HOUR_MS, limit: self.per_hour, units: 1 },
        ]
    }

    /// Whether this failure rests now.
    pub(super) fn rests(&self, store: &dyn Store, key: &str, now: u64) -> bool {
        // A clock that was set back must not make a rest last for ever.
        store.rest(key).is_ok_and(|rest| rest.until > now && rest.until <= now.saturating_add(self.cooldown_max))
    }

    /// The answer to a failure that rests: it is counted and left alone.
    pub(super) fn resting(&self, store: &dyn Store, incident: &Incident, now: u64) -> Option<Report> {
        let fingerprint = incident.fingerprint.as_str();
        if !self.rests(store, fingerprint, now) {
            return None;
        }
        // A store that fails here has nothing to count in; the failure is left alone all the same.
        let _ = store.count_occurrence(fingerprint);
        Some(Report {
            occurrences: store.rest(fingerprint).map_or(0, |rest| rest.occurrences),
            status: "closed".to_owned(),
            outcome: "refused".to_owned(),
            reason: Reason::Cooldown.code().to_owned(),
            summary: Reason::Cooldown.sentence().to_owned(),
            ..super::about(incident)
        })
    }

    /// Begins a rest, twice as long as the one before.
    pub(super) fn begin_rest(&self, store: &dyn Store, key: &str, now: u64) {
        let Ok(before) = store.rest(key) else { return };
        let pause = self.cooldown.checked_shl(before.times.min(32)).unwrap_or(u64::MAX).min(self.cooldown_max);
        let rest = Rest {
            until: now.saturating_add(pause),
            times: before.times.saturating_add(1),
            occurrences: before.occurrences + 1,
        };
        // A store that fails here has failed above as well, and the report says so.
        let _ = store.set_rest(key, &rest);
    }

    /// Ends a rest: the failure is healed.
    pub(super) fn end_rest(&self, store: &dyn Store, key: &str) {
        if store.rest(key).is_ok_and(|rest| rest != Rest::default()) {
            let _ = store.set_rest(key, &Rest::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::port::Store as _;
    use sanare_store::Memory;

    use super::Breaker;

    const BREAKER: Breaker = Breaker { cooldown: 600, cooldown_max: 2_000, per_function: 3, per_hour: 20 };

    #[test]
    fn a_rest_doubles_up_to_its_longest() {
        let store = Memory::new();
        let mut ends = Vec::new();
        for now in [10_000, 20_000, 30_000, 40_000] {
            BREAKER.begin_rest(&store, "f", now);
            assert!(BREAKER.rests(&store, "f", now));
            ends.push(store.rest("f").unwrap().until - now);
            assert!(!BREAKER.rests(&store, "f", now + ends.last().unwrap()));
        }
        assert_eq!(ends, [600, 1_200, 2_000, 2_000]);
        BREAKER.end_rest(&store, "f");
        BREAKER.begin_rest(&store, "f", 50_000);
        assert_eq!(store.rest("f").unwrap().until, 50_600);
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_make_a_rest_last() {
        let store = Memory::new();
        BREAKER.begin_rest(&store, "f", 1_000_000);
        assert!(!BREAKER.rests(&store, "f", 5_000));
    }
}
