//! The state of one series, and what its readings go through.

use sanare_core::service::{Flag, IncidentKind, Moment, Observation, ObservedValue, Profile, Severity};
use serde::{Deserialize, Serialize};

use super::finding::{Finding, Where};
use super::settings::Settings;
use super::{Series, Spot};
use crate::budget::Half;
use crate::drift::compare::compare;
use crate::drift::judge::DriftWatch;
use crate::drift::schema::SchemaWatch;
use crate::fingerprint::fingerprint;
use crate::health::Sign;
use crate::order::{Line, Order};
use crate::presence::{Interval, Presence};
use crate::quality::{Finding as Told, QualityReading, QualityWatch};
use crate::reading::{Input, Reading};
use crate::threshold::{Crossing, Rule, Watch};

/// What is known of a signal of a component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SpotState {
    pub presence: Presence,
    pub missing: bool,
}

/// What is known of a series.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SeriesState {
    pub path: Path,
    /// By the place of the rule in the settings.
    pub watches: Vec<(usize, Watch)>,
    pub qualities: Vec<(usize, QualityWatch)>,
    pub drift: Option<(usize, DriftWatch, SchemaWatch)>,
    pub sign: Option<Sign>,
    /// Budgets of which it is a half, by their place in the settings.
    pub halves: Vec<(usize, Half)>,
    /// Whether its observations hold no number: that one comes without says nothing.
    pub numberless: bool,
}

/// A series' way to its detectors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Path {
    pub line: Line,
    pub interval: Interval,
    pub lag: u64,
    /// Event time of the newest reading that went to the detectors.
    pub fed: u64,
    /// Whether they were told that it stays away.
    pub frozen: bool,
}

/// The reading in an observation.
pub(super) fn reading(observation: &Observation) -> Reading {
    let number = observation.value.number().unwrap_or(f64::NAN);
    if observation.flags.contains(&Flag::FreshnessUnknown) {
        Reading::of_unknown_age(observation.event_time, number)
    } else {
        Reading::new(observation.event_time, number)
    }
}

impl SeriesState {
    /// `rules` are the places of the application's rules about the signal.
    pub fn new(settings: &Settings, series: &Series, rules: &[usize], sign: Option<Sign>) -> Self {
        let Spot { application, component, signal } = &series.spot;
        let watches = |place: &usize| {
            let (_, rule) = settings.rules.get(*place)?;
            rule.watches(component, signal, &series.labels).then(|| (*place, Watch::default()))
        };
        let watches = rules.iter().filter_map(watches).collect();
        let qualities = settings.qualities.iter().enumerate();
        let qualities = qualities.filter(|(_, it)| it.application == *application && it.signal == *signal);
        let mut drifts = settings.drifts.iter();
        let drift = drifts.position(|it| it.application == *application && it.signal == *signal);
        Self {
            path: Path::default(),
            watches,
            qualities: qualities.map(|(place, _)| (place, QualityWatch::default())).collect(),
            drift: drift.map(|place| (place, DriftWatch::default(), SchemaWatch::default())),
            sign,
            halves: settings.halves_of(application, signal),
            numberless: false,
        }
    }

    pub fn is_waiting(&self) -> bool {
        self.path.line.is_waiting()
    }

    pub fn released(&mut self, now: Moment) -> Vec<Reading> {
        Order { lag: self.path.lag }.release(&mut self.path.line, now)
    }

    /// Gives a reading to every rule.
    pub fn feed(&mut self, settings: &Settings, series: &Series, input: Input) -> Vec<Finding> {
        if let Input::Reading(reading) = input {
            (self.path.fed, self.path.frozen) = (reading.at().micros(), false);
        }
        let mut findings = Vec::new();
        for (place, watch) in &mut self.watches {
            let Some((_, rule)) = settings.rules.get(*place) else { continue };
            findings.extend(rule.step(watch, input).map(|crossing| crossed(series, rule, crossing)));
        }
        findings
    }

    /// When it has stayed away for too long, if it does so until `until`: by event times, so that it does not matter when the
    /// next reading arrives. Told once.
    pub fn freezes_at(&self, patience: Option<u64>, until: Moment) -> Option<Moment> {
        let due = self.path.fed.saturating_add(patience?);
        let freezes = self.path.fed > 0 && !self.path.frozen && until.micros() >= due;
        freezes.then(|| Moment::from_micros(due))
    }

    /// Values that decide as a whole: qualities and profiles. The second answer: labels that came later changed a window
    /// that was judged before.
    pub fn whole(&mut self, settings: &Settings, series: &Series, observation: &Observation) -> (Vec<Finding>, bool) {
        let place = Where { application: &series.spot.application, component: &series.spot.component };
        let (mut findings, mut restated) = (Vec::new(), false);
        self.numberless = matches!(observation.value, ObservedValue::Drift(_) | ObservedValue::Deployment { .. });
        match &observation.value {
            ObservedValue::PredictionQuality(quality) => {
                for (number, watch) in &mut self.qualities {
                    let Some(it) = settings.qualities.get(*number) else { continue };
                    let reading = QualityReading {
                        value: quality.value,
                        samples: quality.samples,
                        window: (quality.from, quality.to),
                        spread: it.spread(quality),
                        at: observation.event_time,
                    };
                    match it.rule.step(watch, reading) {
                        Told::Judged { change: Some(change), .. } => {
                            let finding = place.finding(IncidentKind::QualityLow, &it.id, change);
                            findings.push(Finding { value: Some(quality.value), ..finding });
                        }
                        Told::Restated { .. } => restated = true,
                        Told::Judged { .. } | Told::Insufficient => {}
                    }
                }
            }
            ObservedValue::Drift(profile) => {
                findings.extend(self.profile(settings, place, profile, observation.event_time))
            }
            _ => {}
        }
        let named =
            |finding| Finding { signal: Some(series.spot.signal.clone()), labels: series.labels.clone(), ..finding };
        (findings.into_iter().map(named).collect(), restated)
    }

    /// A profile of a reference that is not known here is no evidence; intake refuses it before.
    fn profile(&mut self, settings: &Settings, place: Where<'_>, profile: &Profile, at: Moment) -> Vec<Finding> {
        let mut findings = Vec::new();
        let Some((number, drift, schema_watch)) = &mut self.drift else { return findings };
        let Some(it) = settings.drifts.get(*number) else { return findings };
        let Ok(found) = compare(&it.reference, profile) else { return findings };
        for change in it.rule.step(drift, &found, at) {
            let finding = place.finding(change.kind, &it.reference.reference, change.change);
            // Drift alone is low (S54); a rule that names a column as important makes it what its kind is.
            let severity = if it.rule.important.is_empty() { Severity::Low } else { finding.severity };
            findings.push(Finding { columns: change.columns, severity, ..finding });
        }
        if let Some(schema) = &it.schema
            && let Ok(violations) = schema.check(&it.reference, profile)
        {
            for change in schema.step(schema_watch, &violations, at) {
                let columns = change.violations.iter().map(ToString::to_string).collect();
                let finding = place.finding(change.kind, &it.reference.reference, change.change);
                findings.push(Finding { columns, ..finding });
            }
        }
        findings
    }
}

fn crossed(series: &Series, rule: &Rule, crossing: Crossing) -> Finding {
    let Spot { application, component, signal } = &series.spot;
    let draft = rule.draft();
    Finding {
        application: application.clone(),
        component: component.clone(),
        kind: draft.kind,
        severity: rule.severity(),
        fingerprint: fingerprint(application, draft.kind, component, &series.labels, &draft.distinct),
        rule: draft.id.clone(),
        change: crossing.change,
        signal: Some(signal.clone()),
        labels: series.labels.clone(),
        value: crossing.value,
        columns: Vec::new(),
    }
}
