//! Storms: when too many applications fall ill at once, nobody acts until a person has looked (S52).

use std::collections::{BTreeMap, BTreeSet};

use sanare_core::service::moment::MINUTE;
use sanare_core::service::{Application, Moment, Severity};
use serde::{Deserialize, Serialize};

/// Within this new incidents count together, and so long it has to be calm.
const WITHIN: u64 = 10 * MINUTE;
/// So many applications are never a storm.
const FEW: f64 = 3.0;
/// The share of all applications that is.
const SHARE: f64 = 0.2;

/// The weather over all applications.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weather {
    /// When an application last had a new incident of high or more.
    ill: BTreeMap<Application, u64>,
    storm: bool,
    calm_since: Option<u64>,
    lifted: BTreeSet<Application>,
    lifted_for_all: bool,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A storm has begun, over these applications. Waiting and granted approvals are void, one incident is told.
    Began(Vec<Application>),
    /// It is over; runs that were held take fresh evidence.
    Ended,
}

impl Weather {
    /// A new incident opened, in a fleet of so many applications.
    pub fn opened(&mut self, application: &Application, severity: Severity, at: Moment, fleet: usize) -> Option<Turn> {
        if severity < Severity::High {
            return None;
        }
        self.ill.insert(application.clone(), at.micros());
        self.look(at, fleet)
    }

    /// An application is forgotten.
    pub fn forget(&mut self, application: &Application) {
        self.ill.remove(application);
        self.lifted.remove(application);
    }

    /// Time passed.
    pub fn tick(&mut self, now: Moment, fleet: usize) -> Option<Turn> {
        self.look(now, fleet)
    }

    /// Whether runs of an application stop at `evident`.
    pub fn holds(&self, application: &Application) -> bool {
        self.storm && !self.lifted_for_all && !self.lifted.contains(application)
    }

    /// Whether there is a storm, lifted or not.
    pub fn is_storm(&self) -> bool {
        self.storm
    }

    /// A person lifts this storm for one application, or for all.
    pub fn lift(&mut self, application: Option<&Application>) {
        match application {
            Some(application) if self.storm => drop(self.lifted.insert(application.clone())),
            Some(_) => {}
            None => self.lifted_for_all = self.storm,
        }
    }

    fn look(&mut self, now: Moment, fleet: usize) -> Option<Turn> {
        self.ill.retain(|_, at| now.micros().saturating_sub(*at) < WITHIN);
        let (count, bar) = (self.ill.len() as f64, FEW.max(SHARE * fleet as f64));
        if !self.storm {
            self.storm = count > bar;
            return self.storm.then(|| Turn::Began(self.ill.keys().cloned().collect()));
        }
        if count >= bar / 2.0 {
            self.calm_since = None;
            return None;
        }
        let since = *self.calm_since.get_or_insert(now.micros());
        if now.micros().saturating_sub(since) < WITHIN {
            return None;
        }
        *self = Self { ill: std::mem::take(&mut self.ill), ..Self::default() };
        Some(Turn::Ended)
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::service::moment::{DAY, MINUTE, SECOND};
    use sanare_core::service::{Application, Moment, Severity};

    use super::{Turn, Weather};

    fn app(number: usize) -> Application {
        Application::parse(format!("app-{number}")).expect("a name")
    }

    fn at(second: u64) -> Moment {
        Moment::from_micros(20_000 * DAY + second * SECOND)
    }

    /// So many applications of a fleet fall ill, a second apart: how many storms begin, and at which of them.
    fn check(ill: usize, fleet: usize, severity: Severity) -> Vec<usize> {
        let mut weather = Weather::default();
        let turn =
            |number: usize, weather: &mut Weather| weather.opened(&app(number), severity, at(number as u64), fleet);
        (0..ill).filter(|number| turn(*number, &mut weather).is_some()).collect()
    }

    #[test]
    fn more_than_three_and_a_fifth_are_a_storm_once() {
        assert_eq!(check(100, 100, Severity::High), [20], "one message for a hundred");
        assert_eq!(check(20, 100, Severity::High), [0; 0]);
        assert_eq!(check(4, 10, Severity::Critical), [3]);
        assert_eq!(check(3, 10, Severity::Critical), [0; 0]);
        assert_eq!(check(100, 100, Severity::Medium), [0; 0]);
        for fleet in 1..=3 {
            assert_eq!(check(fleet, fleet, Severity::Critical), [0; 0], "a fleet of {fleet}");
        }
    }

    #[test]
    fn one_application_that_falls_ill_again_and_again_is_no_storm() {
        let mut weather = Weather::default();
        for second in 0..100 {
            assert_eq!(weather.opened(&app(1), Severity::Critical, at(second), 5), None);
        }
        for number in 0..4_u64 {
            let spread = weather.opened(&app(number as usize + 2), Severity::Critical, at(1_000 + number * 600), 5);
            assert_eq!(spread, None, "one in ten minutes");
        }
    }

    #[test]
    fn it_ends_after_ten_calm_minutes_and_a_person_may_lift_it() {
        let mut weather = Weather::default();
        for number in 0..6 {
            weather.opened(&app(number), Severity::High, at(0), 10);
        }
        assert!(weather.is_storm() && weather.holds(&app(9)), "also those that are well");
        weather.lift(Some(&app(1)));
        assert!(!weather.holds(&app(1)) && weather.holds(&app(2)));
        weather.lift(None);
        assert!(!weather.holds(&app(2)) && weather.is_storm());
        let minute = |number: u64| at(number * MINUTE / SECOND);
        let turns: Vec<u64> = (1..60).filter(|number| weather.tick(minute(*number), 10) == Some(Turn::Ended)).collect();
        assert_eq!(turns, [20], "ten minutes until they are old, ten of calm");
        assert!(!weather.holds(&app(2)));
        weather.lift(None);
        for number in 0..6 {
            weather.opened(&app(number), Severity::High, minute(60), 10);
        }
        assert!(weather.holds(&app(2)), "what was lifted was the storm before");
    }

    #[test]
    fn a_new_wave_in_the_calm_begins_the_calm_anew() {
        let mut weather = Weather::default();
        for number in 0..6 {
            weather.opened(&app(number), Severity::High, at(0), 10);
        }
        assert_eq!(weather.tick(at(700), 10), None);
        for number in 0..2 {
            assert_eq!(weather.opened(&app(number), Severity::High, at(900), 10), None);
        }
        assert_eq!(weather.tick(at(1_301), 10), None);
        assert_eq!(weather.tick(at(1_510), 10), None);
        assert_eq!(weather.tick(at(2_110), 10), Some(Turn::Ended));
    }
}
