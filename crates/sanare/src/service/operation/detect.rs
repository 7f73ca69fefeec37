//! What detection, as it is configured now, finds in what was recorded (S36). Nothing is stored, told or done.

use std::collections::BTreeMap;
use std::sync::Arc;

use sanare_core::port::StoreFault;
use sanare_core::service::{Application, Component, Condition, IncidentKind, Moment, ServiceStore, Severity};
use sanare_core::settings::Trouble;
use sanare_detect::bank::{Bank, Replay};
use serde::Serialize;

use crate::service::{Setup, UnknownService, detectors};

/// Readings that are read together.
const TOGETHER: usize = 1_000;

/// An incident that would have opened; silences and causes apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WouldOpen {
    /// When, by the time of the reading that decided.
    pub opened: Moment,
    /// When it would have cleared.
    pub cleared: Option<Moment>,
    /// The service.
    pub application: Application,
    /// The part of it.
    pub component: Component,
    /// What is wrong.
    pub kind: IncidentKind,
    /// How bad it is.
    pub severity: Severity,
    /// The rule that says so, by its name in the configuration or ours.
    pub rule: String,
}

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Detected {
    /// Readings that were fed.
    pub readings: u64,
    /// Readings that were not taken because there are too many signals.
    pub crowded: u64,
    /// When the first of them came.
    pub from: Option<Moment>,
    /// When the last of them came.
    pub to: Option<Moment>,
    /// What would have opened, in this order.
    pub opened: Vec<WouldOpen>,
}

/// Why nothing was replayed.
#[derive(Debug, thiserror::Error)]
pub enum NotReplayed {
    /// The configuration is wrong.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Configuration(Vec<Trouble>),
    /// It names a service that is not configured.
    #[error(transparent)]
    UnknownService(#[from] UnknownService),
    /// Nothing was recorded.
    #[error("nothing was recorded: there is no store at {0}")]
    NoStore(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

impl Setup {
    /// Runs what was recorded through the detectors of this configuration: all of it, or one service's, or what came since.
    ///
    /// # Errors
    /// [`NotReplayed`].
    pub fn replay_detection(
        &self,
        application: Option<&Application>,
        since: Option<Moment>,
    ) -> Result<Detected, NotReplayed> {
        let path = self.store();
        let store = sanare_store::Sqlite::open_existing(&path)?;
        let store = store.ok_or_else(|| NotReplayed::NoStore(path.display().to_string()))?;
        self.replay_detection_in(&store, application, since)
    }

    /// The same in a store that is open.
    ///
    /// # Errors
    /// [`NotReplayed`].
    pub fn replay_detection_in(
        &self,
        store: &dyn ServiceStore,
        application: Option<&Application>,
        since: Option<Moment>,
    ) -> Result<Detected, NotReplayed> {
        if let Some(application) = application {
            self.has(application)?;
        }
        let settings = Arc::new(detectors(self).map_err(NotReplayed::Configuration)?);
        let mut replay = Replay::of(Bank::new(settings), None);
        let mut detected = Detected::default();
        let mut open = BTreeMap::new();
        let mut after = 0;
        loop {
            let readings = store.observations_after(after, TOGETHER)?;
            let Some(last) = readings.last() else { break };
            after = last.sequence;
            for one in &readings {
                if application.is_some_and(|wanted| *wanted != one.application)
                    || since.is_some_and(|since| one.arrival_time < since)
                {
                    continue;
                }
                detected.readings += 1;
                detected.from.get_or_insert(one.arrival_time);
                detected.to = Some(one.arrival_time);
                let (passed, own) = replay.feed(one);
                for finding in passed.into_iter().chain(own) {
                    let at = finding.at();
                    match finding.change.to {
                        Condition::Firing => {
                            let place = detected.opened.len();
                            if *open.entry(finding.fingerprint.clone()).or_insert(place) == place {
                                detected.opened.push(WouldOpen {
                                    opened: at,
                                    cleared: None,
                                    application: finding.application,
                                    component: finding.component,
                                    kind: finding.kind,
                                    severity: finding.severity,
                                    rule: finding.rule,
                                });
                            }
                        }
                        Condition::Cleared => {
                            let place = open.remove(&finding.fingerprint);
                            if let Some(known) = place.and_then(|place| detected.opened.get_mut(place)) {
                                known.cleared = Some(at);
                            }
                        }
                        Condition::Pending | Condition::Clearing => {}
                    }
                }
            }
        }
        detected.crowded = replay.crowded;
        Ok(detected)
    }
}
