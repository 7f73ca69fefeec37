//! A storm as an incident of its own: one that a person is told of, in place of all that it consists of (S52).

use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::redact::Redactor;
use sanare_core::service::incident::fingerprint;
use sanare_core::service::run::Change;
use sanare_core::service::word::{Condition, IncidentFlag, Status};
use sanare_core::service::{Application, Component, Incident, IncidentKind, Invalid, NotMade, Run, Text};
use serde_json::json;

use super::{Loop, Reported, Symptom};

/// Names of a storm's applications that its summary tells.
const NAMED: usize = 8;

/// What all services together are called, where an incident is about them.
///
/// # Errors
/// Never: it is a legal name.
pub fn fleet() -> Result<Application, Invalid> {
    Application::parse("fleet")
}

impl Loop<'_> {
    /// The storm that is open.
    ///
    /// # Errors
    /// [`NotMade::Store`].
    pub fn storm(&self) -> Result<Option<Incident>, NotMade> {
        let newest = self.world.store.newest_of(&print()?)?;
        Ok(newest.filter(|incident| incident.status() != Status::Closed && incident.condition != Condition::Cleared))
    }

    /// A storm has begun over these applications: one incident, unless it is open already; and every question that waits
    /// is void.
    ///
    /// # Errors
    /// [`NotMade::Store`].
    pub fn storm_begins(&self, over: &[Application], fleet_size: usize) -> Result<Id, NotMade> {
        self.void_approvals(None, "too many services are ill at once")?;
        if let Some(open) = self.storm()? {
            return Ok(open.id);
        }
        let now = self.world.now();
        let (component, kind) = (Component::default(), IncidentKind::Storm);
        let mut incident = Incident::open(self.world.id("inc"), name()?, component, kind, None, now);
        let names: Vec<&str> = over.iter().take(NAMED).map(Application::as_str).collect();
        let more = over.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let said =
            format!("{} of {fleet_size} services fell ill within 10 minutes: {}{more}", over.len(), names.join(", "));
        incident.summary = Text::of(&said);
        // What it consists of is told with it.
        incident.group = Some(incident.id.clone());
        let id = incident.id.clone();
        let payload = json!({ "incident": incident, "applications": over, "fleet": fleet_size });
        let mut change = Change { now: self.world.clock.now(), ..Change::default() };
        change.entries.push(Entry {
            incident: id.clone(),
            step: "opened".to_owned(),
            at: change.now,
            payload: Redactor::standard().json(&payload),
        });
        change.runs.push((Run::new(&incident, now), None));
        change.incidents.push(incident);
        match self.world.store.commit(&change) {
            Ok(_) => Ok(id),
            // Another process saw it at the same moment.
            Err(NotMade::Open(_)) => Ok(self.storm()?.map_or(id, |open| open.id)),
            Err(other) => Err(other),
        }
    }

    /// The storm is over.
    ///
    /// # Errors
    /// [`NotMade::Store`].
    pub fn storm_ends(&self) -> Result<(), NotMade> {
        if self.storm()?.is_none() {
            return Ok(());
        }
        let over = Symptom {
            application: name()?,
            component: Component::default(),
            kind: IncidentKind::Storm,
            about: Vec::new(),
            severity: None,
            condition: Condition::Cleared,
            labels: Vec::new(),
            evidence: Vec::new(),
            flags: std::collections::BTreeSet::<IncidentFlag>::new(),
            inhibited_by: None,
        };
        self.report(&over).map(|_: Reported| ())
    }

    /// A person lifts the storm for one application, or for all: recorded, and left for whoever watches under `key`.
    ///
    /// # Errors
    /// [`NotMade::Moved`] where there is no storm, [`NotMade::Store`].
    pub fn lift_storm(&self, application: Option<&Application>, key: &str, by: &str) -> Result<Id, NotMade> {
        let open = self.storm()?.ok_or_else(|| NotMade::Moved("there is no storm".to_owned()))?;
        let payload = json!({ "application": application, "by": by });
        let now = self.world.clock.now();
        let entry = Entry {
            incident: open.id.clone(),
            step: "storm_lifted".to_owned(),
            at: now,
            payload: Redactor::standard().json(&payload),
        };
        let states = vec![(key.to_owned(), Some(open.id.as_str().as_bytes().to_vec()))];
        self.world.store.commit(&Change { now, entries: vec![entry], states, ..Change::default() })?;
        Ok(open.id)
    }
}

fn name() -> Result<Application, NotMade> {
    fleet().map_err(|invalid| NotMade::Conflict(invalid.to_string()))
}

fn print() -> Result<sanare_core::hash::Digest, NotMade> {
    Ok(fingerprint(&name()?, IncidentKind::Storm, &Component::default(), &[]))
}
