//! What keeps days quiet: silences and windows, what explains what, groups that are told once, storms (S49, S50, S52).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use sanare_core::id::Id;
use sanare_core::port::StoreFault;
use sanare_core::service::config::Configuration;
use sanare_core::service::moment::MINUTE;
use sanare_core::service::run::Change;
use sanare_core::service::{
    Application, Condition, Incident, IncidentFlag, IncidentKind, Labels, Moment, ServiceStore, Severity, Status,
    StepName,
};
use sanare_core::settings::Trouble;
use sanare_detect::bank::Finding;
use sanare_detect::group::{Causes, Ill, Inhibition, Scope};
use sanare_detect::silence::{Hush, Maintenance, Quiet, Seen};
use sanare_detect::storm::Turn;
use sanare_engine::service::{Loop, Marks};

use super::healer::locked;
use super::house::{LiveHouse, Memory};
use super::setup::{Setup, trouble};
use super::watch::{depends_on, fault};

/// Open incidents among which one may explain another.
const OPEN: usize = 10_000;
/// A storm's incidents began at most so long before it was seen.
const BEFORE: u64 = 10 * MINUTE;
/// Where a person's lifting of a storm is left: for all under this alone, for one application with its name behind.
pub(super) const LIFTED: &str = "storm/lifted/";

/// What keeps it quiet.
pub(super) struct Calm {
    quiet: Quiet,
    causes: Causes,
    memory: Arc<Mutex<Memory>>,
}

/// Open incidents, as far as one may explain another.
pub(super) struct Open {
    ills: Vec<Ill>,
    ids: Vec<Option<Id>>,
}

impl Calm {
    /// Everything that the configuration says of it.
    ///
    /// # Errors
    /// What detection refuses, with its line.
    pub fn of(setup: &Setup, memory: Arc<Mutex<Memory>>) -> Result<Self, Vec<Trouble>> {
        let mut troubles = Vec::new();
        let mut wrong = |line: usize, table: &str, invalid: sanare_core::service::Invalid| {
            let mut one = trouble(&setup.file, line, &invalid.reason, "");
            one.key = format!("{table}.{}", invalid.field);
            troubles.push(one);
        };
        let mut windows = Vec::new();
        for one in &setup.configuration.maintenance {
            let days: Vec<&str> = one.days.iter().map(String::as_str).collect();
            match Maintenance::new(&one.matchers, &days, &one.from, &one.to, &one.zone) {
                Ok(window) => windows.push(window),
                Err(invalid) => wrong(one.line, "maintenance", invalid),
            }
        }
        let causes = match causes(&setup.configuration) {
            Ok(causes) => causes,
            Err(invalid) => {
                // A cycle has no line of its own: the last rule closed it.
                let line = setup.configuration.inhibitions.last().map_or(1, |one| one.line);
                wrong(line, "inhibit", invalid);
                Causes::default()
            }
        };
        let quiet = Quiet { windows, ..Quiet::default() };
        if troubles.is_empty() { Ok(Self { quiet, causes, memory }) } else { Err(troubles) }
    }

    /// Reads which silences there are.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn refresh(&mut self, store: &dyn ServiceStore, now: Moment) -> Result<(), StoreFault> {
        let kept = store.silences(now)?;
        if !kept.iter().eq(self.quiet.silences.iter().map(Hush::silence)) {
            let ready = kept.into_iter().map(Hush::ready).collect::<Result<Vec<_>, _>>();
            self.quiet.silences = ready.map_err(|invalid| StoreFault::Corrupt(format!("a silence: {invalid}")))?;
        }
        Ok(())
    }

    /// Whether incidents of a kind may explain others: they are told first.
    pub fn is_cause(&self, kind: IncidentKind) -> bool {
        self.causes.is_cause(kind)
    }

    /// Whether what is found is silenced now.
    pub fn silences(&self, finding: &Finding, now: Moment) -> bool {
        let seen = Seen {
            application: &finding.application,
            component: &finding.component,
            kind: finding.kind,
            severity: finding.severity,
            labels: &finding.labels,
        };
        self.quiet.covers(seen, now)
    }

    /// The open incident that explains what is found.
    pub fn cause(&self, finding: &Finding, open: &Open) -> Option<Id> {
        let mut ills = open.ills.clone();
        ills.push(ill(finding));
        let cause = self.causes.inhibited(&ills).pop().flatten()?;
        open.ids.get(cause).cloned().flatten()
    }

    /// What is about to open may be a storm: that is known before any of it is told (S52).
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn forecast<'a>(
        &self,
        found: impl Iterator<Item = &'a Finding> + Clone,
        open: &Open,
        house: &LiveHouse,
        acting: &Loop<'_>,
    ) -> Result<(), StoreFault> {
        let now = Moment::from_millis(house.clock.now());
        let fleet = house.setup.configuration.services.len();
        let firing = found.filter(|finding| finding.change.to == Condition::Firing);
        let mut ills = open.ills.clone();
        ills.extend(firing.clone().map(ill));
        let causes = self.causes.inhibited(&ills);
        for (finding, cause) in firing.zip(causes.into_iter().skip(open.ills.len())) {
            let counts = finding.severity >= Severity::High && cause.is_none() && !self.silences(finding, now);
            let known = house.store.newest_of(&finding.fingerprint)?;
            if !counts || known.is_some_and(|one| one.status() != Status::Closed) {
                continue;
            }
            let turn = locked(&self.memory).weather.opened(&finding.application, finding.severity, now, fleet);
            if let Some(Turn::Began(over)) = turn {
                acting.storm_begins(&over, fleet).map_err(fault)?;
            }
        }
        Ok(())
    }

    /// Looks at the weather: whether a person lifted the storm, and whether it is over.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn weather(&self, house: &LiveHouse, acting: &Loop<'_>) -> Result<(), StoreFault> {
        let lifted = house.store.states(LIFTED)?;
        if !lifted.is_empty() {
            let storm = acting.storm().map_err(fault)?.map(|storm| storm.id);
            let mut gone = Vec::new();
            for (key, of) in lifted {
                if storm.as_ref().is_some_and(|storm| storm.as_str().as_bytes() == of) {
                    let name = key.strip_prefix(LIFTED).unwrap_or_default();
                    let application = Application::parse(name).ok();
                    locked(&self.memory).weather.lift(application.as_ref());
                } else {
                    gone.push((key, None));
                }
            }
            if !gone.is_empty() {
                let change = Change { now: house.clock.now(), states: gone, ..Change::default() };
                house.store.commit(&change).map_err(fault)?;
            }
        }
        let now = Moment::from_millis(house.clock.now());
        let fleet = house.setup.configuration.services.len();
        let turn = locked(&self.memory).weather.tick(now, fleet);
        match turn {
            Some(Turn::Ended) => acting.storm_ends().map_err(fault),
            Some(Turn::Began(over)) => acting.storm_begins(&over, fleet).map(drop).map_err(fault),
            None => Ok(()),
        }
    }

    /// Looks at every open incident anew: what is silenced or explained waits, and goes on with fresh evidence when it is
    /// not any more; what belongs together is told once.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn look(&self, house: &LiveHouse, acting: &Loop<'_>) -> Result<(), StoreFault> {
        let now = Moment::from_millis(house.clock.now());
        let incidents = house.store.open_incidents(OPEN)?;
        let open = Open::of(&incidents);
        let causes = self.causes.inhibited(&open.ills);
        let heads = self.causes.groups(&open.ills);
        let storm = match locked(&self.memory).weather.is_storm() {
            true => acting.storm().map_err(fault)?,
            false => None,
        };
        let sizes = |head: usize| heads.iter().filter(|one| **one == head).take(2).count();
        for (place, incident) in incidents.iter().enumerate() {
            if incident.kind == IncidentKind::CodeException {
                continue;
            }
            let cause = causes.get(place).copied().flatten().and_then(|cause| incidents.get(cause));
            let inhibited_by = match incident.step {
                StepName::Closed => incident.inhibited_by.clone(),
                _ => cause.map(|cause| cause.id.clone()),
            };
            let head = heads.get(place).copied().unwrap_or(place);
            let group = match (&incident.group, &storm) {
                (Some(_), _) => None,
                (None, Some(storm)) if incident.opened.plus(BEFORE) >= storm.opened => Some(storm.id.clone()),
                (None, _) if incident.kind == IncidentKind::Storm || sizes(head) < 2 => None,
                (None, _) => incidents.get(head).map(|head| head.group.clone().unwrap_or_else(|| head.id.clone())),
            };
            let marks = Marks { silenced: self.is_silenced(house, incident, now)?, inhibited_by, group };
            let same = incident.is(IncidentFlag::Silenced) == marks.silenced
                && incident.inhibited_by == marks.inhibited_by
                && marks.group.is_none();
            if !same {
                acting.mark(&incident.id, &marks).map_err(fault)?;
            }
        }
        Ok(())
    }

    fn is_silenced(&self, house: &LiveHouse, incident: &Incident, now: Moment) -> Result<bool, StoreFault> {
        // Labels are those of the reading that opened it.
        let mut labels = Labels::default();
        if self.quiet.looks_at_labels()
            && let Some(first) = incident.evidence.first()
        {
            let read = house.store.observations(std::slice::from_ref(&first.observation))?;
            labels = read.into_iter().next().map(|one| one.labels).unwrap_or_default();
        }
        let seen = Seen {
            application: &incident.application,
            component: &incident.component,
            kind: incident.kind,
            severity: incident.severity,
            labels: &labels,
        };
        Ok(self.quiet.covers(seen, now))
    }
}

impl Open {
    /// Those of the store.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn read(store: &dyn ServiceStore) -> Result<Self, StoreFault> {
        Ok(Self::of(&store.open_incidents(OPEN)?))
    }

    fn of(incidents: &[Incident]) -> Self {
        let ills = incidents.iter().map(|one| Ill {
            part: (one.application.clone(), one.component.clone()),
            kind: one.kind,
            opened: one.opened,
            firing: matches!(one.condition, Condition::Firing | Condition::Clearing),
        });
        Self { ills: ills.collect(), ids: incidents.iter().map(|one| Some(one.id.clone())).collect() }
    }

    /// One more has opened, or has cleared.
    pub fn note(&mut self, finding: &Finding, id: &Id, condition: Condition) {
        let firing = matches!(condition, Condition::Firing | Condition::Clearing);
        let place = self.ids.iter().position(|known| known.as_ref() == Some(id));
        match place.and_then(|place| self.ills.get_mut(place)) {
            Some(known) => known.firing = firing,
            None => {
                self.ills.push(Ill { firing, ..ill(finding) });
                self.ids.push(Some(id.clone()));
            }
        }
    }
}

fn ill(finding: &Finding) -> Ill {
    let part = (finding.application.clone(), finding.component.clone());
    Ill { part, kind: finding.kind, opened: finding.at(), firing: finding.change.to == Condition::Firing }
}

/// What explains what, by the configuration and without it.
fn causes(configuration: &Configuration) -> Result<Causes, sanare_core::service::Invalid> {
    let own = configuration.inhibitions.iter().map(|one| Inhibition {
        cause: one.cause,
        symptoms: one.symptoms.iter().copied().collect::<BTreeSet<_>>(),
        scope: if one.dependents { Scope::Dependents } else { Scope::Component },
    });
    Causes::new(&own.collect::<Vec<_>>(), depends_on(configuration))
}
