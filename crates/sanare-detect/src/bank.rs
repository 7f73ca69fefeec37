//! The bank: every series with its order, every rule with its state; observations and time in, findings out.
//!
//! It is the one object that a loop feeds. It is saved and loaded as records of few bytes, and fed again what came since.

mod finding;
mod replay;
mod saved;
mod series;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;

use sanare_core::service::{
    Application, Component, Condition, Flag, IncidentKind, Labels, Moment, Observation, Signal,
};
use serde::{Deserialize, Serialize};

pub use finding::Finding;
pub use replay::{Replayed, replay};
pub use saved::{Saved, Unread};
pub use settings::{BudgetRule, DriftFor, HealthSign, QualityFor, Settings};

use crate::budget::{Burn, Half};
use crate::health::Life;
use crate::hold::Change;
use crate::order;
use crate::presence::News;
use crate::reading::{Input, Reading};
use finding::Where;
use series::{SeriesState, SpotState};

/// One signal of one component, all series together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Spot {
    application: Application,
    component: Component,
    signal: Signal,
}

/// One series: a signal with its labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Series {
    spot: Spot,
    labels: Labels,
}

/// A component.
type Place = (Application, Component);
/// The counts of one budget at one component with one set of labels.
type BurnKey = (Application, Component, Labels, String);

/// Detectors over all signals.
#[derive(Clone, Debug)]
pub struct Bank {
    settings: Arc<Settings>,
    series: BTreeMap<Series, SeriesState>,
    spots: BTreeMap<Spot, SpotState>,
    lives: BTreeMap<Place, Life>,
    burns: BTreeMap<BurnKey, Burn>,
    /// Series of each application.
    counts: BTreeMap<Application, usize>,
    sequence: u64,
}

/// What came of one observation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noted {
    /// What intake notes on it.
    pub flags: Vec<Flag>,
    /// Whether it was not taken because there are too many signals (S35).
    pub crowded: bool,
    /// Conditions that changed.
    pub findings: Vec<Finding>,
}

impl Bank {
    /// A bank that has seen nothing.
    pub fn new(settings: Arc<Settings>) -> Self {
        Self {
            settings,
            series: BTreeMap::new(),
            spots: BTreeMap::new(),
            lives: BTreeMap::new(),
            burns: BTreeMap::new(),
            counts: BTreeMap::new(),
            sequence: 0,
        }
    }

    /// Takes a stored observation; one that it has already taken, by its sequence, is passed over.
    pub fn observe(&mut self, observation: &Observation) -> Noted {
        if observation.sequence > 0 && observation.sequence <= self.sequence {
            return Noted::default();
        }
        self.sequence = self.sequence.max(observation.sequence);
        let spot = Spot {
            application: observation.application.clone(),
            component: observation.component.clone(),
            signal: observation.signal.clone(),
        };
        let series = Series { spot, labels: observation.labels.clone() };
        if !self.series.contains_key(&series) {
            if self.is_crowded(&series.spot.application) {
                return Noted { crowded: true, ..Noted::default() };
            }
            let state = SeriesState::new(&self.settings, &series, observation.kind());
            self.insert(series.clone(), state);
        }
        self.take(&series, observation)
    }

    fn take(&mut self, series: &Series, observation: &Observation) -> Noted {
        let now = observation.arrival_time;
        let settings = Arc::clone(&self.settings);
        let Some(state) = self.series.get_mut(series) else { return Noted::default() };
        let reading = series::reading(observation);
        let order = settings.order_of(&observation.source);
        let place = order.admit(&mut state.path.line, reading, now);
        state.path.lag = order.lag;
        let mut noted = Noted { flags: place.flag().into_iter().collect(), ..Noted::default() };
        if place.is_arrival() {
            noted.findings.extend(state.whole(&settings, series, observation));
            let spot = self.spots.entry(series.spot.clone()).or_default();
            let news = spot.presence.hear(observation.event_time, now);
            noted.findings.extend(settings.missing(&series.spot, spot, news));
        } else if place == order::Place::Late {
            noted.findings.extend(state.feed(&settings, series, Input::Late(reading)));
        }
        noted.findings.extend(self.release(series, now));
        noted
    }

    /// Time has come to `now`, by a clock that does not jump.
    pub fn tick(&mut self, now: Moment) -> Vec<Finding> {
        let mut findings = Vec::new();
        let settings = Arc::clone(&self.settings);
        let waiting = self.series.iter().filter(|(_, state)| state.is_waiting());
        let waiting: Vec<Series> = waiting.map(|(series, _)| series.clone()).collect();
        for series in waiting {
            findings.extend(self.release(&series, now));
        }
        for (spot, state) in &mut self.spots {
            let news = settings.expect_of(&spot.signal).tick(&mut state.presence, now);
            findings.extend(settings.missing(spot, state, news));
        }
        let away = |(series, state): &(&Series, &SeriesState)| {
            let patience = self.patience(&settings, &series.spot);
            state.freezes_at(patience, now.minus(state.path.lag)).is_some()
        };
        let away: Vec<Series> = self.series.iter().filter(away).map(|(series, _)| series.clone()).collect();
        for series in away {
            findings.extend(self.freeze(&series, None, now));
        }
        for ((application, component), life) in &mut self.lives {
            let ended = life.tick(now);
            findings.extend(ended.map(|beat| Where { application, component }.beat(beat)));
        }
        findings
    }

    /// What the watermark has passed goes to the detectors, in order; series that make one ratio go together.
    fn release(&mut self, series: &Series, now: Moment) -> Vec<Finding> {
        let mut released: Vec<(Series, Reading)> = Vec::new();
        for one in self.together(series) {
            let readings = self.series.get_mut(&one).map(|state| state.released(now));
            released.extend(readings.into_iter().flatten().map(|reading| (one.clone(), reading)));
        }
        // Failed requests before all requests of the same moment: the ratio is judged with the latter.
        released.sort_by_key(|(one, reading)| (reading.at(), !self.is_bad_half(one)));
        released.into_iter().flat_map(|(one, reading)| self.give(&one, reading, now)).collect()
    }

    fn give(&mut self, series: &Series, reading: Reading, now: Moment) -> Vec<Finding> {
        let settings = Arc::clone(&self.settings);
        let mut findings = self.freeze(series, Some(reading.at()), now);
        let Some(state) = self.series.get_mut(series) else { return findings };
        let spot = self.spots.entry(series.spot.clone()).or_default();
        if let Some(every) = state.path.interval.learn(reading.at()) {
            spot.presence.teach(every);
        }
        let news = spot.presence.read(reading);
        findings.extend(settings.missing(&series.spot, spot, news));
        findings.extend(state.feed(&settings, series, Input::Reading(reading)));
        if let Some(sign) = state.sign {
            let place = Where { application: &series.spot.application, component: &series.spot.component };
            let life = self.lives.entry((place.application.clone(), place.component.clone())).or_default();
            findings.extend(life.step(sign, Input::Reading(reading)).into_iter().map(|beat| place.beat(beat)));
        }
        findings.extend(self.burn(series, Input::Reading(reading)));
        findings
    }

    /// This series, and the one that makes a ratio with it.
    fn together(&self, series: &Series) -> Vec<Series> {
        let mut all = vec![series.clone()];
        let Spot { application, signal, .. } = &series.spot;
        for rule in self.settings.budgets.iter().filter(|rule| rule.application == *application) {
            let other = match signal {
                signal if *signal == rule.bad => &rule.all,
                signal if *signal == rule.all => &rule.bad,
                _ => continue,
            };
            let mut partner = series.clone();
            partner.spot.signal.clone_from(other);
            if !all.contains(&partner) {
                all.push(partner);
            }
        }
        all
    }

    fn is_bad_half(&self, series: &Series) -> bool {
        let Spot { application, signal, .. } = &series.spot;
        self.settings.budgets.iter().any(|rule| rule.application == *application && rule.bad == *signal)
    }

    /// Tells the detectors of a series that it stays away: before its next reading, or when the watermark has passed the
    /// time that it may stay away.
    fn freeze(&mut self, series: &Series, next: Option<Moment>, now: Moment) -> Vec<Finding> {
        let settings = Arc::clone(&self.settings);
        let patience = self.patience(&settings, &series.spot);
        let Some(state) = self.series.get_mut(series) else { return Vec::new() };
        let until = next.unwrap_or_else(|| now.minus(state.path.lag));
        let Some(due) = state.freezes_at(patience, until) else { return Vec::new() };
        state.path.frozen = true;
        let mut findings = state.feed(&settings, series, Input::Missing(due));
        findings.extend(self.burn(series, Input::Missing(due)));
        findings
    }

    fn patience(&self, settings: &Settings, spot: &Spot) -> Option<u64> {
        let presence = &self.spots.get(spot)?.presence;
        settings.expect_of(&spot.signal).patience(presence)
    }

    fn burn(&mut self, series: &Series, input: Input) -> Vec<Finding> {
        let Spot { application, component, signal } = &series.spot;
        let mut findings = Vec::new();
        for rule in self.settings.budgets.iter().filter(|rule| rule.application == *application) {
            let half = match signal {
                // That nobody counts failures is no news while requests are counted.
                signal if *signal == rule.bad && matches!(input, Input::Missing(_)) => continue,
                signal if *signal == rule.bad => Half::Bad,
                signal if *signal == rule.all => Half::All,
                _ => continue,
            };
            let key = (application.clone(), component.clone(), series.labels.clone(), rule.id.clone());
            let burn = self.burns.entry(key).or_default();
            for burning in rule.budget.step(burn, half, input) {
                let place = Where { application, component };
                let finding = place.finding(IncidentKind::ErrorRateHigh, &rule.id, burning.change);
                findings.push(Finding {
                    severity: burning.severity,
                    value: burning.times,
                    signal: Some(signal.clone()),
                    labels: series.labels.clone(),
                    ..finding
                });
            }
        }
        findings
    }

    /// A probe saw that the process of a component was started at this moment.
    pub fn started(&mut self, application: &Application, component: &Component, at: Moment) -> Option<Finding> {
        let life = self.lives.entry((application.clone(), component.clone())).or_default();
        life.start(at).map(|beat| Where { application, component }.beat(beat))
    }

    /// Where a kind of sign of life stands at a component.
    pub fn life(&self, application: &Application, component: &Component, kind: IncidentKind) -> Condition {
        let life = self.lives.get(&(application.clone(), component.clone()));
        life.map_or(Condition::Cleared, |life| life.condition(kind))
    }

    /// How many series it follows.
    pub fn series(&self) -> usize {
        self.series.len()
    }

    fn insert(&mut self, series: Series, state: SeriesState) {
        let application = series.spot.application.clone();
        if self.series.insert(series, state).is_none() {
            *self.counts.entry(application).or_default() += 1;
        }
    }

    fn is_crowded(&self, application: &Application) -> bool {
        let known = self.counts.get(application);
        self.series.len() >= self.settings.most
            || known.is_some_and(|count| *count >= self.settings.most_of_one)
            || (known.is_none() && self.counts.len() >= self.settings.most_applications)
    }
}

impl Settings {
    /// The incident of a signal that stays away or comes back, where it is watched.
    fn missing(&self, spot: &Spot, state: &mut SpotState, news: Option<News>) -> Option<Finding> {
        let (at, missing) = match news? {
            News::Missing(at) => (at, true),
            News::Back(at) => (at, false),
        };
        let was = std::mem::replace(&mut state.missing, missing);
        if was == missing || !self.is_watched(spot) {
            return None;
        }
        let word = |missing: bool| if missing { Condition::Firing } else { Condition::Cleared };
        let change = Change { at, from: word(was), to: word(missing) };
        let place = Where { application: &spot.application, component: &spot.component };
        let finding = place.finding(IncidentKind::SignalMissing, "signal_missing", change);
        Some(Finding { signal: Some(spot.signal.clone()), ..finding })
    }
}

#[cfg(test)]
mod tests;
