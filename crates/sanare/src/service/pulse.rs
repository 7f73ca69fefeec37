//! What is asked of the world at its times: probes, Prometheus, registries. Answers become readings like any other.

use std::collections::BTreeMap;

use sanare_core::service::config::{AGE, ASKED_EVERY};
use sanare_core::service::moment::SECOND;
use sanare_core::service::{
    Application, Component, Draft, Health, Identity, Mark, Moment, ObservationKind, ObservedValue, Signal, Text,
    Version,
};
use sanare_effects::service::mlflow::registry::{Alias, Known, State, VersionState};

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::detectors::{LOG, READY, REGISTRY, SERVED, instance_signal, probe_signal, prometheus_source};
use super::hands::{Hands, Watched};
use super::healer::locked;

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
    /// What each alias named when it was looked at last, and since when it was seen to name that.
    aliases: BTreeMap<Application, (Option<Version>, Moment)>,
    /// What each registry told last.
    #[serde(default)]
    registries: BTreeMap<Application, Json>,
}

impl Starts {
    /// What a registry told was not written down: it is told again.
    pub fn forget_registry(&mut self, application: &Application) {
        self.registries.remove(application);
    }

    /// An application is forgotten.
    pub fn forget(&mut self, application: &Application) {
        self.started.retain(|(of, _, _)| of != application);
        self.aliases.remove(application);
        self.registries.remove(application);
    }

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
    /// What registries tell that they did not tell before.
    pub registries: Vec<(Application, Json)>,
    /// Who answered which probe.
    pub told: Vec<((Application, String), Identity)>,
}

/// Tags of a version that are kept, and characters of each.
const TAGS: usize = 50;
const TAG: usize = 200;
/// The alias, when it moved.
const ALIAS: &str = "registry_alias";

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
        let counts = locked(&hands.logs).beat(now);
        heard.readings.extend(counts.into_iter().map(|draft| (LOG.to_owned(), draft)));
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

    /// An alias that moved is a version that went live; who moved it is told by our own receipts. A registry that cannot
    /// be read says nothing: its signals stay away.
    fn look_at_registries(&mut self, hands: &Hands, now: Moment, heard: &mut Heard) {
        for (application, watched) in &hands.models {
            if !self.is_due(format!("registry {application}"), ASKED_EVERY, now) {
                continue;
            }
            let Ok(state) = watched.registry.state(&watched.model) else { continue };
            let mut tell = |name: &str, value: ObservedValue| {
                if let Ok(signal) = Signal::parse(name) {
                    let draft = Draft::new(application.clone(), signal, value);
                    let draft = Draft { component: watched.component.clone(), event_time: Some(now), ..draft };
                    heard.readings.push((REGISTRY.to_owned(), draft));
                }
            };
            let said = said(watched, &state);
            if self.starts.registries.get(application) != Some(&said) {
                self.starts.registries.insert(application.clone(), said.clone());
                heard.registries.push((application.clone(), said));
            }
            let known = match &state.version {
                Some(VersionState::Known(known)) => Some(known),
                _ => None,
            };
            let is_ready = known.is_some_and(Known::is_ready);
            tell(READY, ObservedValue::metric(f64::from(u8::from(is_ready))));
            if let Some(created) = known.and_then(|known| known.created) {
                tell(AGE, ObservedValue::metric(seconds(now.since(created))));
            }
            let alias = match state.alias {
                Alias::At(version) => Some(version),
                Alias::Absent => None,
            };
            let before = self.starts.aliases.get(application).cloned();
            let since = match &before {
                Some((known, since)) if *known == alias => *since,
                _ => now,
            };
            self.starts.aliases.insert(application.clone(), (alias.clone(), since));
            if let Some(after) = &alias {
                let known = before.map(|(version, _)| version);
                if known.as_ref() != Some(&alias) {
                    // Seen for the first time it is no change: nobody knows since when it stands there.
                    let before = known.unwrap_or_else(|| alias.clone());
                    tell(ALIAS, ObservedValue::Deployment { before, after: after.clone() });
                }
            }
            if let Some((status, detail)) = compare(watched, alias.as_ref(), is_known(&state.version), now.since(since))
            {
                tell(SERVED, ObservedValue::Health { status, detail: Some(Text::of(&detail)) });
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "the age of a model is far below 2^53 seconds")]
fn seconds(micros: u64) -> f64 {
    (micros / SECOND) as f64
}

/// Everything that a registry tells of a model's alias: of the version its state, its tags and the run that made it.
fn said(watched: &Watched, state: &State) -> Json {
    let alias = match &state.alias {
        Alias::At(version) => Some(version),
        Alias::Absent => None,
    };
    let known = match &state.version {
        Some(VersionState::Known(known)) => Some(known),
        _ => None,
    };
    let cut = |text: &str| text.chars().take(TAG).collect::<String>();
    let tags = known.map(|known| {
        known.tags.iter().take(TAGS).map(|(key, value)| (cut(key), cut(value))).collect::<BTreeMap<String, String>>()
    });
    json!({
        "registry": watched.registry.authority(), "model": watched.model.name(), "alias": watched.model.alias(),
        "version": alias, "exists": alias.map(|_| is_known(&state.version)),
        "status": known.map(|known| cut(&known.status)), "tags": tags,
        "run": known.and_then(|known| known.run.as_deref()).map(cut), "created": known.and_then(|known| known.created),
    })
}

fn is_known(version: &Option<VersionState>) -> bool {
    matches!(version, Some(VersionState::Known(_)))
}

/// What is served against what the registry names; nothing where either cannot be read, or the service may still be loading
/// what the alias has named for so long.
fn compare(watched: &Watched, alias: Option<&Version>, is_known: bool, named_for: u64) -> Option<(Health, String)> {
    let answered = watched.served.as_ref()?.ask();
    let served = answered.identity.get(Mark::ServedVersion).and_then(|text| Version::parse(text).ok());
    let Some(served) = served else { return Some((Health::Unknown, "what is served cannot be read".to_owned())) };
    let name = watched.model.alias();
    if alias == Some(&served) {
        return Some(match is_known {
            true => (Health::Pass, format!("{served} is served, as `{name}` names it")),
            false => (Health::Fail, format!("{served} is served, and the registry has no such version")),
        });
    }
    match (watched.registry.version(&watched.model, &served).ok()?, alias) {
        (VersionState::Absent, _) => {
            Some((Health::Fail, format!("{served} is served, and the registry has no such version")))
        }
        (VersionState::Known(_), None) => Some((Health::Unknown, format!("there is no alias `{name}`"))),
        (VersionState::Known(_), Some(_)) if named_for < watched.settle => None,
        (VersionState::Known(_), Some(alias)) => {
            Some((Health::Fail, format!("{served} is served, and `{name}` names {alias}")))
        }
    }
}
