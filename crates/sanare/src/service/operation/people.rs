//! What a person does about an incident: propose, acknowledge, hold, retry, undo, close, settle (S107, S114).

use sanare_core::id::Id;
use sanare_core::service::word::ReceiptState;
use sanare_core::service::{Action, Incident};
use sanare_engine::service::{NotDone, NotSettled};

use super::incidents::{LOOKED_THROUGH, NotFound, by_id};
use crate::service::Healer;
use crate::wire::person;

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum NotByPerson {
    /// There is no such thing.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// It is not to be done.
    #[error(transparent)]
    NotDone(#[from] NotDone),
    /// It is not to be settled.
    #[error(transparent)]
    NotSettled(#[from] NotSettled),
}

impl Healer {
    /// Proposes an action. Policy judges it like any other, and somebody else approves it.
    ///
    /// # Errors
    /// [`NotByPerson`]; then nothing changed.
    pub fn propose(&self, incident: &str, action: Action, reason: &str) -> Result<Id, NotByPerson> {
        let incident = self.one(incident)?;
        let (house, name) = (self.house(), person::current().name);
        self.within(&house, |acting| acting.propose(&incident.id, &incident.application, action, &name, reason))?;
        Ok(incident.id)
    }

    /// Holds an incident, or lets it go.
    ///
    /// # Errors
    /// [`NotByPerson`]; then nothing changed.
    pub fn hold(&self, incident: &str, held: bool) -> Result<Id, NotByPerson> {
        let incident = self.one(incident)?;
        let (house, name) = (self.house(), person::current().name);
        self.within(&house, |acting| acting.hold(&incident.id, held, &name))?;
        Ok(incident.id)
    }

    /// Notes that the account that runs this process has seen it.
    ///
    /// # Errors
    /// [`NotByPerson`]; then nothing changed.
    pub fn acknowledge(&self, incident: &str) -> Result<Id, NotByPerson> {
        let incident = self.one(incident)?;
        let (house, name) = (self.house(), person::current().name);
        self.within(&house, |acting| acting.acknowledge(&incident.id, &name))?;
        Ok(incident.id)
    }

    /// Lets its last act be taken back; whoever lets the run go on does it.
    ///
    /// # Errors
    /// [`NotByPerson`]; then nothing changed.
    pub fn undo(&self, incident: &str, reason: &str) -> Result<Id, NotByPerson> {
        let incident = self.one(incident)?;
        let (house, name) = (self.house(), person::current().name);
        self.within(&house, |acting| acting.undo(&incident.id, &name, reason))?;
        Ok(incident.id)
    }

    /// Begins a handed-over incident anew.
    ///
    /// # Errors
    /// [`NotByPerson`]; then nothing changed.
    pub fn retry(&self, incident: &str) -> Result<Id, NotByPerson> {
        let incident = self.one(incident)?;
        let (house, name) = (self.house(), person::current().name);
        self.within(&house, |acting| acting.retry(&incident.id, &name))?;
        Ok(incident.id)
    }

    /// Closes an incident, perhaps as a false alarm.
    ///
    /// # Errors
    /// [`NotByPerson`]; then nothing changed.
    pub fn close_incident(&self, incident: &str, reason: &str, false_alarm: bool) -> Result<Id, NotByPerson> {
        let incident = self.one(incident)?;
        let (house, name) = (self.house(), person::current().name);
        self.within(&house, |acting| acting.close(&incident.id, &name, reason, false_alarm))?;
        Ok(incident.id)
    }

    /// Says what came of an act of which nobody knew; its target is free again.
    ///
    /// # Errors
    /// [`NotByPerson`]; then nothing changed.
    pub fn settle(&self, receipt: &str, state: ReceiptState, reason: &str) -> Result<Id, NotByPerson> {
        let receipt = self.receipt(receipt)?;
        let (house, name) = (self.house(), person::current().name);
        self.within(&house, |acting| acting.settle(&receipt, state, &name, reason))?;
        Ok(receipt)
    }

    /// A receipt by its id or the beginning of it: among those that are not settled, else among all.
    fn receipt(&self, given: &str) -> Result<Id, NotFound> {
        let unsettled = self.store().unsettled()?;
        match by_id(&unsettled, given, |one| &one.id) {
            Ok(open) => return Ok(open.id.clone()),
            Err(NotFound::Unknown(_)) => {}
            Err(error) => return Err(error),
        }
        let mut all = Vec::new();
        for incident in self.store().newest_incidents(LOOKED_THROUGH)? {
            all.extend(self.store().receipts_of(&incident.id)?);
        }
        by_id(&all, given, |one| &one.id).map(|one| one.id.clone())
    }

    fn one(&self, id: &str) -> Result<Incident, NotFound> {
        self.incident(id).map(|(incident, _)| incident)
    }
}
