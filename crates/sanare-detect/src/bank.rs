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
    Application, Component, Condition, Flag, IncidentKind, Labels, Moment, Observation, ObservationKind, Signal,
};
use serde::{Deserialize, Serialize};

pub use finding::Finding;
pub use replay::{Replay, Replayed, replay};
pub use saved::{Saved, Unread};
pub use settings::{BudgetRule, DriftFor, HealthSign, QualityFor, Settings};

use crate::budget::{Burn, Half};
use crate::health::{Life, Sign};
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
    /// Places of rules in the settings, by application and signal.
    rules: BTreeMap<(Application, Signal), Vec<usize>>,
    /// Places in `series` and `spots` by name: a name is looked up once an observation.
    series_by_name: BTreeMap<Series, usize>,
    series: Vec<Followed>,
    spots_by_name: BTreeMap<Spot, usize>,
    spots: Vec<(Spot, SpotState)>,
    lives: BTreeMap<Place, Life>,
    burns: BTreeMap<BurnKey, Burn>,
    /// Series that are signs of life, by component.
    signs: BTreeMap<Place, Vec<usize>>,
    /// Series of each application.
    counts: BTreeMap<Application, usize>,
    sequence: u64,
}

/// A series that is followed, and the place of its spot.
#[derive(Clone, Debug)]
struct Followed {
    series: Series,
    spot: usize,
    state: SeriesState,
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
        let mut rules: BTreeMap<(Application, Signal), Vec<usize>> = BTreeMap::new();
        for (place, (application, rule)) in settings.rules.iter().enumerate() {
            rules.entry((application.clone(), rule.draft().signal.clone())).or_default().push(place);
        }
        Self {
            settings,
            rules,
            series_by_name: BTreeMap::new(),
            series: Vec::new(),
            spots_by_name: BTreeMap::new(),
            spots: Vec::new(),
            lives: BTreeMap::new(),
            burns: BTreeMap::new(),
            signs: BTreeMap::new(),
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
        let at = match self.series_by_name.get(&series) {
            Some(at) => *at,
            None if self.is_crowded(&series.spot.application) => return Noted { crowded: true, ..Noted::default() },
            None => {
                let sign = self.settings.sign_of(&series.spot.application, &series.spot.signal);
                let sign = (observation.kind() == ObservationKind::Health).then_some(sign);
                self.follow(series, sign)
            }
        };
        self.take(at, observation)
    }

    fn take(&mut self, at: usize, observation: &Observation) -> Noted {
        let now = observation.arrival_time;
        let Some(Followed { series, spot, state }) = self.series.get_mut(at) else { return Noted::default() };
        let reading = series::reading(observation);
        let order = self.settings.order_of(&observation.source);
        let place = order.admit(&mut state.path.line, reading, now);
        state.path.lag = order.lag;
        let mut noted = Noted { flags: place.flag().into_iter().collect(), ..Noted::default() };
        if place.is_arrival() {
            let (findings, restated) = state.whole(&self.settings, series, observation);
            noted.findings.extend(findings);
            noted.flags.extend(restated.then_some(Flag::Restated));
            if let Some((spot, known)) = self.spots.get_mut(*spot) {
                let news = known.presence.hear(observation.event_time, now);
                noted.findings.extend(self.settings.missing(spot, known, news));
            }
        } else if place == order::Place::Late {
            noted.findings.extend(state.feed(&self.settings, series, Input::Late(reading)));
        }
        noted.findings.extend(self.release(at, now));
        noted
    }

    /// Time has come to `now`, by a clock that does not jump.
    pub fn tick(&mut self, now: Moment) -> Vec<Finding> {
        let mut findings = Vec::new();
        // By name, so that the order of findings does not depend on the order in which series came, or were loaded.
        let places: Vec<usize> = self.series_by_name.values().copied().collect();
        for at in &places {
            if self.series.get(*at).is_some_and(|followed| followed.state.is_waiting()) {
                findings.extend(self.release(*at, now));
            }
        }
        for at in self.spots_by_name.values() {
            let Some((spot, state)) = self.spots.get_mut(*at) else { continue };
            let news = self.settings.expect_of(&spot.signal).tick(&mut state.presence, now);
            findings.extend(self.settings.missing(spot, state, news));
        }
        for at in places {
            findings.extend(self.freeze(at, None, now));
        }
        for ((application, component), life) in &mut self.lives {
            let ended = life.tick(now);
            findings.extend(ended.map(|beat| Where { application, component }.beat(beat)));
        }
        findings
    }

    /// What the watermark has passed goes to the detectors, in order; series that make one ratio, or tell of one component's
    /// life, go together.
    fn release(&mut self, at: usize, now: Moment) -> Vec<Finding> {
        let mut released: Vec<(usize, Reading)> = Vec::new();
        for one in self.together(at) {
            let readings = self.series.get_mut(one).map(|followed| followed.state.released(now));
            released.extend(readings.into_iter().flatten().map(|reading| (one, reading)));
        }
        if released.iter().any(|(one, _)| *one != at) {
            // Failed requests before all requests of the same moment: the ratio is judged with the latter. Else by name.
            let name = |one: usize| self.series.get(one).map(|followed| &followed.series);
            let key = |one: usize, reading: &Reading| (reading.at(), !self.is_bad_half(one), name(one));
            released.sort_by(|(a, left), (b, right)| key(*a, left).cmp(&key(*b, right)));
        }
        released.into_iter().flat_map(|(one, reading)| self.give(one, reading, now)).collect()
    }

    fn give(&mut self, at: usize, reading: Reading, now: Moment) -> Vec<Finding> {
        let mut findings = self.freeze(at, Some(reading.at()), now);
        let Some(Followed { series, spot, state }) = self.series.get_mut(at) else { return findings };
        if let Some((spot, known)) = self.spots.get_mut(*spot) {
            if let Some(every) = state.path.interval.learn(reading.at()) {
                known.presence.teach(every);
            }
            // A profile is no number, and none is missed.
            let news = if state.numberless { None } else { known.presence.read(reading) };
            findings.extend(self.settings.missing(spot, known, news));
        }
        findings.extend(state.feed(&self.settings, series, Input::Reading(reading)));
        if let Some(sign) = state.sign {
            let place = Where { application: &series.spot.application, component: &series.spot.component };
            let life = self.lives.entry((place.application.clone(), place.component.clone())).or_default();
            findings.extend(
                life.step(sign, series.spot.signal.as_str(), Input::Reading(reading))
                    .into_iter()
                    .map(|beat| place.beat(beat)),
            );
        }
        findings.extend(self.burn(at, Input::Reading(reading)));
        findings
    }

    /// This series, and those that go together with it.
    fn together(&self, at: usize) -> Vec<usize> {
        let mut all = vec![at];
        let Some(Followed { series, state, .. }) = self.series.get(at) else { return all };
        for (rule, half) in
            state.halves.iter().filter_map(|(rule, half)| Some((self.settings.budgets.get(*rule)?, half)))
        {
            let other = if *half == Half::Bad { &rule.all } else { &rule.bad };
            let mut partner = series.clone();
            partner.spot.signal.clone_from(other);
            let partner = self.series_by_name.get(&partner).copied();
            all.extend(partner.filter(|partner| !all.contains(partner)));
        }
        if state.sign.is_some() {
            let place = (series.spot.application.clone(), series.spot.component.clone());
            let others = self.signs.get(&place).into_iter().flatten();
            all.extend(others.filter(|other| **other != at));
        }
        all
    }

    fn is_bad_half(&self, at: usize) -> bool {
        self.series.get(at).is_some_and(|followed| followed.state.halves.iter().any(|(_, half)| *half == Half::Bad))
    }

    /// Tells the detectors of a series that it stays away: before its next reading, or when the watermark has passed the
    /// time that it may stay away.
    fn freeze(&mut self, at: usize, next: Option<Moment>, now: Moment) -> Vec<Finding> {
        let Some(Followed { series, spot, state }) = self.series.get_mut(at) else { return Vec::new() };
        let presence = self.spots.get(*spot).map(|(_, spot)| &spot.presence);
        let patience = presence.and_then(|presence| self.settings.expect_of(&series.spot.signal).patience(presence));
        let until = next.unwrap_or_else(|| now.minus(state.path.lag));
        let Some(due) = state.freezes_at(patience, until) else { return Vec::new() };
        state.path.frozen = true;
        let mut findings = state.feed(&self.settings, series, Input::Missing(due));
        findings.extend(self.burn(at, Input::Missing(due)));
        findings
    }

    fn burn(&mut self, at: usize, input: Input) -> Vec<Finding> {
        let mut findings = Vec::new();
        let Some(Followed { series, state, .. }) = self.series.get(at) else { return findings };
        let Spot { application, component, signal } = &series.spot;
        for (rule, half) in &state.halves {
            let Some(rule) = self.settings.budgets.get(*rule) else { continue };
            // That nobody counts failures is no news while requests are counted.
            if *half == Half::Bad && matches!(input, Input::Missing(_)) {
                continue;
            }
            let key = (application.clone(), component.clone(), series.labels.clone(), rule.id.clone());
            let burn = self.burns.entry(key).or_default();
            for burning in rule.budget.step(burn, *half, input) {
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

    fn follow(&mut self, series: Series, sign: Option<Sign>) -> usize {
        let key = (series.spot.application.clone(), series.spot.signal.clone());
        let rules = self.rules.get(&key).map_or(&[][..], Vec::as_slice);
        let state = SeriesState::new(&self.settings, &series, rules, sign);
        let spot = self.spot(&series.spot);
        *self.counts.entry(series.spot.application.clone()).or_default() += 1;
        self.series_by_name.insert(series.clone(), self.series.len());
        if state.sign.is_some() {
            let place = (series.spot.application.clone(), series.spot.component.clone());
            self.signs.entry(place).or_default().push(self.series.len());
        }
        self.series.push(Followed { series, spot, state });
        self.series.len() - 1
    }

    fn spot(&mut self, spot: &Spot) -> usize {
        if let Some(at) = self.spots_by_name.get(spot) {
            return *at;
        }
        self.spots_by_name.insert(spot.clone(), self.spots.len());
        self.spots.push((spot.clone(), SpotState::default()));
        self.spots.len() - 1
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
