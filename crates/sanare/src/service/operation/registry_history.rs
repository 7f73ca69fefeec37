//! What a registry told of a model, each time that it told something else (S29).

use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::port::StoreFault;
use sanare_core::redact::Redactor;
use sanare_core::service::{Application, Change, Moment, ServiceStore};
use serde::Serialize;
use serde_json::Value as Json;

use crate::service::Healer;
use crate::service::watch::fault;

/// What a registry told at a moment.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    /// When it was found to be so.
    pub at: Moment,
    /// Alias, the version that it names, that version's status, tags and source run.
    #[serde(flatten)]
    pub told: Json,
}

/// Under which id the ledger has it.
fn id(application: &Application) -> Id {
    Id::from_text(format!("reg_{application}"))
}

/// Writes down what a registry tells.
///
/// # Errors
/// [`StoreFault`].
pub(in super::super) fn write_down(
    store: &dyn ServiceStore,
    now: u64,
    application: &Application,
    told: &Json,
) -> Result<(), StoreFault> {
    let payload = Redactor::standard().json(told);
    let entry = Entry { incident: id(application), step: "registry".to_owned(), at: now, payload };
    store.commit(&Change { now, entries: vec![entry], ..Change::default() }).map(drop).map_err(fault)
}

impl Healer {
    /// What the registry told of a service's model, oldest first: one entry each time that it told something else. That it
    /// could not be asked is none.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn registry_history(&self, application: &Application) -> Result<Vec<Told>, StoreFault> {
        let records = self.store().records_of(&id(application))?;
        let told = records.into_iter().filter(|record| record.step == "registry");
        Ok(told.map(|record| Told { at: Moment::from_millis(record.at), told: record.json().clone() }).collect())
    }
}
