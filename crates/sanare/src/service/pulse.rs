//! What is asked of the world at its times: probes, Prometheus, registries. Answers become readings like any other.

use std::collections::BTreeMap;

use sanare_core::service::moment::MINUTE;
use sanare_core::service::{
    Application, Component, Draft, Health, Identity, Labels, Mark, Moment, ObservationKind, ObservedValue, Signal,
    Version,
};
use sanare_effects::service::mlflow::registry::Alias;

use serde::{Deserialize, Serialize};

use super::detectors::{instance_signal, probe_signal, prometheus_source};
use super::hands::Hands;

/// When each was asked last, and what it said.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    asked: BTreeMap<String, Moment>,
    /// What outlives this process.
    pub starts: Starts,
}

/// Since when processes run, and which version an alias names: another answer is an event, the first one is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Starts {
    started: Vec<(Application, Component, String)>,
    aliases: BTreeMap<Application, Version>,
}

impl Starts {
    /// Takes notice of a start; the one before it.
    fn start(&mut self, application: &Application, component: &Component, start: &str) -> Option<String> {
        let known = self.started.iter_mut().find(|(app, part, _)| app == application && part == component);
        match known {
            Some((_, _, before)) => Some(std::mem::replace(before, start.to_owned())),
            None => {
                self.started.push((application.clone(), component.clone(), start.to_owned()));
                None
            }
        }
    }
}

/// What was heard.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Readings, with the door that they came through.
    pub readings: Vec<(String, Draft)>,
    /// Processes that were started anew.
    pub started: Vec<(Application, Component)>,
    /// What serving probes said.
    pub serving: Vec<((Application, Component), Health)>,
    /// Who answered which probe.
    pub told: Vec<((Application, String), Identity)>,
}

/// How often a registry is asked.
const REGISTRY: u64 = MINUTE;

impl Pulse {
    fn is_due(&mut self, key: String, every: u64, now: Moment) -> bool {
        let due = self.asked.get(&key).is_none_or(|last| now.since(*last) >= every || now < *last);
        if due {
            self.asked.insert(key, now);
        }
        due
    }

    /// Asks whatever is due.
    pub fn beat(&mut self, hands: &Hands, now: Moment) -> Heard {
        let mut heard = Heard::default();
        for (application, settings, probe) in &hands.probes {
            if !self.is_due(format!("probe {application}/{}", settings.name), settings.every, now) {
                continue;
            }
            let answered = probe.ask();
            let place = (application.clone(), settings.component.clone());
            let status = answered.health;
            let mut tell = |signal: Option<Signal>, value: ObservedValue| {
                if let Some(signal) = signal {
                    let draft = Draft::new(application.clone(), signal, value);
                    let draft = Draft { component: settings.component.clone(), event_time: Some(now), ..draft };
                    heard.readings.push(("probe".to_owned(), draft));
                }
            };
            tell(probe_signal(&settings.name).ok(), ObservedValue::Health { status, detail: answered.detail.clone() });
            if !settings.instances.is_empty() && status != Health::Unknown {
                let right = answered
                    .identity
                    .get(Mark::Instance)
                    .is_some_and(|one| settings.instances.iter().any(|it| it == one));
                let status = if right { Health::Pass } else { Health::Fail };
                tell(instance_signal(&settings.name).ok(), ObservedValue::Health { status, detail: None });
            }
            if settings.role == sanare_core::service::config::ProbeRole::Serving {
                heard.serving.push((place.clone(), status));
            }
            if !answered.identity.is_empty() {
                heard.told.push(((application.clone(), settings.name.clone()), answered.identity.clone()));
            }
            if let Some(start) = answered.identity.get(Mark::StartTime) {
                let before = self.starts.start(&place.0, &place.1, start);
                if before.is_some_and(|before| before != start) {
                    heard.started.push(place);
                }
            }
        }
        self.pull(hands, now, &mut heard);
        self.look_at_registries(hands, now, &mut heard);
        heard
    }

    fn pull(&mut self, hands: &Hands, now: Moment, heard: &mut Heard) {
        for (place, pulled) in hands.pulls.iter().enumerate() {
            let settings = &pulled.settings;
            if !self.is_due(format!("pull {}/{place}", pulled.application), settings.every, now) {
                continue;
            }
            // A failure is a signal that stays away: presence notices it.
            for sample in pulled.pull.pull().unwrap_or_default() {
                let value = match settings.kind {
                    ObservationKind::Resource if sample.value.is_finite() => {
                        ObservedValue::Resource(Some(sample.value))
                    }
                    ObservationKind::Resource => ObservedValue::Resource(None),
                    _ => ObservedValue::metric(sample.value),
                };
                let draft = Draft::new(pulled.application.clone(), settings.signal.clone(), value);
                let draft = Draft {
                    component: settings.component.clone(),
                    labels: sample.labels,
                    event_time: sample.at,
                    ..draft
                };
                heard.readings.push((prometheus_source(&settings.prometheus), draft));
            }
        }
    }

    /// An alias that moved is a version that went live; who moved it is told by our own receipts.
    fn look_at_registries(&mut self, hands: &Hands, now: Moment, heard: &mut Heard) {
        for (application, watched) in &hands.models {
            if !self.is_due(format!("registry {application}"), REGISTRY, now) {
                continue;
            }
            let Ok(Alias::At(version)) = watched.registry.alias(&watched.model) else { continue };
            let before = self.starts.aliases.insert(application.clone(), version.clone());
            if before.as_ref() == Some(&version) {
                continue;
            }
            let Ok(signal) = Signal::parse("registry_alias") else { continue };
            let value = ObservedValue::Deployment { before, after: version };
            let draft = Draft::new(application.clone(), signal, value);
            heard
                .readings
                .push(("registry".to_owned(), Draft { event_time: Some(now), labels: Labels::default(), ..draft }));
        }
    }
}
