//! The house that the loop asks: what is configured, and what is so now. What cannot be read is the answer that stops.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sanare_core::hash::Digest;
use sanare_core::incident::Mode;
use sanare_core::policy::Policy;
use sanare_core::port::Clock;
use sanare_core::service::config::{Bound, ProbeRole, RuleSettings, ServiceSettings};
use sanare_core::service::context::{LiveSpan, MovedBy, RegistryView};
use sanare_core::service::history::{Marked, WentLive, spans};
use sanare_core::service::job::JOBS;
use sanare_core::service::observation::CHECKS;
use sanare_core::service::port::{Diagnostic, Fitting, House, Watched};
use sanare_core::service::profile::Role;
use sanare_core::service::proposal::Params;
use sanare_core::service::verification::{Guard, Guarded, Seen};
use sanare_core::service::{
    Action, Agent, Application, Component, Health, Identity, Incident, IncidentKind, Moment, Observation,
    ObservedValue, Receipt, ReceiptState, ServiceStore, StepName,
};
use sanare_detect::drift::compare::compare;
use sanare_detect::drift::reference::FEW;
use sanare_detect::storm::Weather;
use sanare_effects::service::begin::behind;
use sanare_effects::service::mlflow::registry::{Alias, VersionState};
use sanare_engine::service::fleet;

use super::accounts::Accounts;
use super::detectors::probe_signal;
use super::gate;
use super::hands::{Hand, Hands};
use super::references::{Reference, References};
use super::series;
use super::setup::Setup;

/// Readings that verification looks through.
const READINGS: usize = 20_000;
/// Incidents that history looks through.
const INCIDENTS: usize = 1_000;
/// What every served path is guarded by.
const GUARDED: &str = "serving_error_share";

/// What is known beside store and configuration.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Versions that went live, as services and registries say.
    pub live: BTreeMap<Application, Vec<WentLive>>,
    /// Versions that persons call good.
    pub marks: BTreeMap<Application, Vec<Marked>>,
    /// What the serving probe of a component said last.
    pub serving: BTreeMap<(Application, Component), Health>,
    /// What each probe told of who answers, when it last told anything.
    pub told: BTreeMap<(Application, String), Identity>,
    /// The clock that never goes back, when the wall clock jumped.
    pub jumped: Option<u64>,
    /// What came in by each door.
    pub accounts: Accounts,
    /// Whether too many services are ill at once.
    pub weather: Weather,
}

/// The house at one moment.
pub(super) struct LiveHouse {
    pub setup: Arc<Setup>,
    pub hands: Arc<Hands>,
    pub agent: Arc<dyn Agent>,
    pub store: Arc<dyn ServiceStore>,
    pub clock: Arc<dyn Clock + Send + Sync>,
    pub memory: Arc<Mutex<Memory>>,
    pub references: Arc<References>,
}

impl LiveHouse {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn service(&self, application: &Application) -> Option<&ServiceSettings> {
        self.setup.configuration.services.get(application)
    }

    fn incidents(&self, application: &Application) -> Vec<Incident> {
        let all = self.store.newest_incidents(INCIDENTS).unwrap_or_default();
        all.into_iter().filter(|incident| incident.application == *application).collect()
    }

    fn fitted<'h>(&self, application: &Application, action: Action, hand: &'h Hand) -> Fitting<'h> {
        let instances = self.service(application).map_or(1, |service| service.instances);
        let serving = self.memory().serving.get(&(application.clone(), hand.component.clone())).copied();
        let healthy = match serving {
            Some(Health::Pass) | None => instances,
            Some(Health::Fail | Health::Unknown) => instances.saturating_sub(1),
        };
        let touched = hand.adapter.declaration().blast.touched;
        let ill = instances.saturating_sub(healthy);
        // A restart takes the ill ones first; the other actions take none down.
        let takes_healthy =
            if action == Action::RestartComponent { touched.saturating_sub(ill).min(healthy) } else { 0 };
        let asked = hand.probe.as_ref().map(|probe| (application.clone(), probe.name().to_owned()));
        Fitting {
            adapter: &*hand.adapter,
            kind: hand.kind,
            probe: hand.probe.as_deref(),
            last: asked.and_then(|key| self.memory().told.get(&key).cloned()).unwrap_or_default(),
            component: hand.component.clone(),
            healthy,
            takes_healthy,
        }
    }

    /// Versions that went live and that we moved away from, by our own receipts.
    fn moved(&self, incidents: &[Incident]) -> (Vec<WentLive>, Vec<Marked>) {
        let (mut live, mut back) = (Vec::new(), Vec::new());
        let tried = |incident: &&Incident| incident.attempts.iter().any(|one| one.action == Action::RollbackModel);
        for receipt in
            incidents.iter().filter(tried).flat_map(|one| self.store.receipts_of(&one.id).unwrap_or_default())
        {
            let (Params::Rollback { from_version, to_version }, Some(at)) = (&receipt.params, receipt.started_at)
            else {
                continue;
            };
            let went = |at, version: &_| WentLive { at, version: Clone::clone(version), moved_by: MovedBy::Sanare };
            if matches!(receipt.state, ReceiptState::Done | ReceiptState::Undone) {
                live.push(went(at, to_version));
                back.push(Marked { at, version: from_version.clone() });
            }
            if receipt.state == ReceiptState::Undone {
                live.push(went(receipt.ended_at.unwrap_or(at), from_version));
            }
        }
        (live, back)
    }
}

impl LiveHouse {
    /// Which version was live when, oldest first.
    pub(super) fn history(&self, application: &Application) -> Vec<LiveSpan> {
        let incidents = self.incidents(application);
        let (moved, back) = self.moved(&incidents);
        let memory = self.memory();
        let mut live = memory.live.get(application).cloned().unwrap_or_default();
        // What a service or registry tells shortly after our own move is that move.
        live.retain(|told| {
            !moved.iter().any(|ours| {
                ours.version == told.version && told.at >= ours.at && told.at.since(ours.at) < 120 * 1_000_000
            })
        });
        live.extend(moved);
        let marks = memory.marks.get(application).cloned().unwrap_or_default();
        spans(&live, &incidents, &back, &marks, Moment::from_millis(self.clock.now()))
    }
}

impl House for LiveHouse {
    fn fitting(&self, application: &Application, action: Action) -> Result<Fitting<'_>, String> {
        let configuration = &self.setup.configuration;
        let component = configuration.component(application, action)?;
        let key = (application.clone(), component, action);
        let Some(hand) = self.hands.targets.get(&key) else {
            return Err(match configuration.target(application, action) {
                Ok(target) => {
                    format!("no {} is there for {action}: the program has not lent it", target.adapter.word())
                }
                Err(why) => why,
            });
        };
        Ok(self.fitted(application, action, hand))
    }

    fn resolved(&self, receipt: &Receipt) -> Result<Fitting<'_>, String> {
        let (application, action) = (&receipt.application, receipt.key.action);
        let is = |hand: &&Hand| hand.adapter.declaration().target == receipt.target;
        let now = self.fitting(application, action);
        match now {
            Ok(fitting) if fitting.adapter.declaration().target == receipt.target => Ok(fitting),
            // What was begun on a target that is configured no more is followed to its end there.
            _ => match self.hands.before.iter().find(|(of, hand)| *of == (application.clone(), action) && is(&hand)) {
                Some((_, hand)) => Ok(self.fitted(application, action, hand)),
                None => Err(format!("another target is configured for {action} now")),
            },
        }
    }

    fn diagnostics(&self, application: &Application, kind: IncidentKind) -> Vec<String> {
        let all = self.service(application).map(|service| service.diagnostics.as_slice()).unwrap_or_default();
        all.iter().filter(|one| one.kinds.contains(&kind)).map(|one| format!("{application}/{}", one.id)).collect()
    }

    fn diagnostic(&self, name: &str) -> Option<&dyn Diagnostic> {
        self.hands.diagnostic(name)
    }

    fn policy(&self) -> Policy {
        self.setup.policy(self.clock.now())
    }

    fn configuration(&self) -> Digest {
        self.setup.configuration.hash()
    }

    fn mode(&self, application: &Application) -> Mode {
        // What is about all services is told as long as anything is done to one of them.
        let looks = |mode: Mode| matches!(mode, Mode::Observe | Mode::DryRun | Mode::Off);
        if fleet().is_ok_and(|fleet| fleet == *application)
            && self.setup.configuration.services.values().any(|service| !looks(service.mode))
        {
            return Mode::Ask;
        }
        self.service(application).map_or(Mode::Observe, |service| service.mode)
    }

    fn stopped(&self, application: &Application) -> bool {
        is_stopped(&self.setup, application)
    }

    fn may_begin(&self, application: &Application) -> bool {
        gate::read(&self.setup, || !self.stopped(application)).unwrap_or(false)
    }

    fn calling(&self, application: &Application, call: &mut dyn FnMut()) {
        // Between the look and the effect lies what an adapter does first, such as to compare its fence.
        let (setup, application) = (Arc::clone(&self.setup), application.clone());
        let gate = move |first: &mut dyn FnMut()| {
            let begun = gate::read(&setup, || {
                let goes = !is_stopped(&setup, &application);
                if goes {
                    first();
                }
                goes
            });
            begun.unwrap_or(false)
        };
        behind(Rc::new(gate), call);
    }

    fn in_storm(&self, application: &Application) -> bool {
        self.memory().weather.holds(application)
    }

    fn since_clock_jump_ms(&self) -> Option<u64> {
        self.memory().jumped.map(|at| self.clock.elapsed().saturating_sub(at))
    }

    fn applications_at_once(&self, application: &Application) -> u32 {
        // A store that cannot be read stops.
        let Ok(all) = self.store.newest_incidents(INCIDENTS) else { return u32::MAX };
        let acting = [StepName::Prepared, StepName::Applied, StepName::Undoing];
        let mut others: Vec<&Application> = all
            .iter()
            .filter(|incident| incident.application != *application && acting.contains(&incident.step))
            .map(|incident| &incident.application)
            .collect();
        others.sort();
        others.dedup();
        u32::try_from(others.len()).unwrap_or(u32::MAX)
    }

    fn versions(&self, incident: &Incident) -> Vec<LiveSpan> {
        self.history(&incident.application)
    }

    fn registry(&self, incident: &Incident) -> Option<RegistryView> {
        let watched = self.hands.models.get(&incident.application)?;
        let state = watched.registry.state(&watched.model).ok()?;
        let served = watched.served.as_ref().and_then(|probe| {
            let answered = probe.ask();
            let version = answered.identity.get(sanare_core::service::Mark::ServedVersion)?.to_owned();
            sanare_core::service::Version::parse(version).ok()
        });
        let known = served.as_ref().map(|version| watched.registry.version(&watched.model, version));
        Some(RegistryView {
            alias_version: match state.alias {
                Alias::At(version) => Some(version),
                Alias::Absent => None,
            },
            alias_ready: matches!(&state.version, Some(VersionState::Known(known)) if known.is_ready()),
            served_version: served,
            served_known: matches!(known, Some(Ok(VersionState::Known(_)))),
        })
    }

    fn watched(&self, incident: &Incident, since: Moment, acted_at: Moment) -> Watched {
        let Some(service) = self.service(&incident.application) else { return Default::default() };
        let recent = self.store.recent(&incident.application, READINGS).unwrap_or_default();
        // Of two readings of one moment the first stands.
        let counts = |seen: &&Observation| {
            seen.event_time >= since
                && seen.component == incident.component
                && !seen.flags.contains(&sanare_core::service::Flag::Restated)
        };
        let recent: Vec<&Observation> = recent.iter().filter(counts).collect();
        let mine = |rule: &&RuleSettings| {
            rule.kind == incident.kind && rule.component.as_ref().is_none_or(|part| *part == incident.component)
        };
        let ids: Vec<_> = incident.evidence.iter().map(|one| one.observation.clone()).collect();
        let opened = self.store.observations(&ids).unwrap_or_default();
        let rules = service.rules.iter().filter(mine);
        let mut signals: Vec<Vec<Seen>> =
            rules.flat_map(|rule| series::signals(&recent, &opened, rule, acted_at)).collect();
        if incident.kind == IncidentKind::QualityLow {
            signals.extend(service.qualities.iter().map(|quality| {
                let of = recent.iter().filter(|one| one.signal == quality.signal);
                of.map(|one| seen(one, one.value.number().map(|number| within(quality.bound, number)))).collect()
            }));
        }
        if matches!(incident.kind, IncidentKind::Unreachable | IncidentKind::HalfAlive) {
            let serving = service.probes.iter().filter(|probe| probe.role == ProbeRole::Serving);
            signals.extend(serving.filter_map(|probe| probe_signal(&probe.name).ok()).map(|signal| {
                recent.iter().filter(|one| one.signal == signal).map(|one| seen(one, passes(one))).collect()
            }));
        }
        let drifts = self.references.iter().filter(|((application, _), _)| *application == incident.application);
        signals.extend(drifts.filter(|_| is_of_profiles(incident.kind)).map(|((_, signal), reference)| {
            let of = recent.iter().filter(|one| one.signal == *signal);
            of.map(|one| seen(one, is_well(reference, incident.kind, one))).collect()
        }));
        if signals.is_empty() {
            // What opened it without a rule: each reading of its evidence's signals that comes is one more sign of life.
            let comes = |one: &Observation| ![CHECKS, JOBS].contains(&one.source.as_str());
            let mut names: Vec<_> = opened.into_iter().filter(comes).map(|one| one.signal).collect();
            names.sort();
            names.dedup();
            signals.extend(names.iter().map(|name| {
                let of = recent.iter().filter(|one| one.signal == *name);
                let missing = incident.kind == IncidentKind::SignalMissing;
                of.map(|one| seen(one, if missing { Some(one.value.number().is_some()) } else { passes(one) }))
                    .collect()
            }));
        }
        let other = |rule: &&RuleSettings| rule.kind != incident.kind;
        let mut guards: Vec<Guard> = service
            .rules
            .iter()
            .filter(other)
            .filter_map(|rule| match rule.bound {
                Bound::Above(bound) => Some(guard(&recent, rule.signal.as_str(), Some(bound))),
                Bound::Below(_) => None,
            })
            .collect();
        let named = service.rules.iter().any(|rule| rule.signal.as_str() == GUARDED);
        if !named {
            guards.push(guard(&recent, GUARDED, None));
        }
        Watched { signals, guards }
    }
}

fn is_stopped(setup: &Setup, application: &Application) -> bool {
    setup.is_stopped(None) || setup.is_stopped(Some(application))
}

/// Where a stop switch is: for all, or for one application.
pub(super) fn stop_path(setup: &Setup, application: Option<&Application>) -> PathBuf {
    let name = application.map_or_else(|| "STOP".to_owned(), |application| format!("STOP.{application}"));
    setup.store().with_file_name(name)
}

fn seen(one: &Observation, inside: Option<bool>) -> Seen {
    Seen { at: one.event_time, fresh: one.proves_freshness(), inside }
}

fn within(bound: Bound, number: f64) -> bool {
    match bound {
        Bound::Above(bound) => number <= bound,
        Bound::Below(bound) => number >= bound,
    }
}

fn passes(one: &Observation) -> Option<bool> {
    match &one.value {
        ObservedValue::Health { status: Health::Pass, .. } => Some(true),
        ObservedValue::Health { status: Health::Fail, .. } => Some(false),
        _ => None,
    }
}

/// Kinds that profiles open.
fn is_of_profiles(kind: IncidentKind) -> bool {
    use IncidentKind::{FeatureMissing, InputDrift, OutputDrift, SchemaViolation};
    matches!(kind, FeatureMissing | InputDrift | OutputDrift | SchemaViolation)
}

/// Whether a profile is well, as far as a kind is about it.
fn is_well(reference: &Reference, kind: IncidentKind, one: &Observation) -> Option<bool> {
    let ObservedValue::Drift(profile) = &one.value else { return None };
    let drift = &reference.drift;
    let role = match kind {
        IncidentKind::InputDrift => Role::Feature,
        IncidentKind::OutputDrift => Role::Prediction,
        _ => {
            let violations = drift.schema.as_ref()?.check(&drift.reference, profile).ok()?;
            let enough = profile.rows >= FEW;
            return enough.then(|| violations.iter().all(|violation| violation.breach.kind() != kind));
        }
    };
    drift.rule.is_well(&compare(&drift.reference, profile).ok()?, role)
}

fn guard(recent: &[&Observation], name: &str, bound: Option<f64>) -> Guard {
    let of = recent.iter().filter(|one| one.signal.as_str() == name);
    let readings = of.filter_map(|one| {
        Some(Guarded { at: one.event_time, fresh: one.proves_freshness(), badness: one.value.number()? })
    });
    Guard { name: name.to_owned(), bound, readings: readings.collect() }
}
