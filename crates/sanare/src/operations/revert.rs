//! Taking an applied repair back by its reverse span.

use std::path::Path;

use sanare_core::ledger::Entry;
use sanare_core::outcome::{Outcome, Reason};
use sanare_core::port::{Clock, Store, StoreFault, TargetFault};
use sanare_core::receipt::ReceiptState;
use sanare_core::redact::Redactor;
use serde_json::json;

use crate::operations::show::{self, Show};
use crate::report::Report;
use crate::wire::clock::SystemClock;
use crate::wire::lockfile::take_back;
use crate::wire::person;
use crate::wire::target::restore;

/// Why a repair could not be taken back.
#[derive(Debug, thiserror::Error)]
pub enum Revert {
    /// No such incident.
    #[error(transparent)]
    Show(#[from] Show),
    /// It changed no file, or was taken back before.
    #[error("`{0}` has no applied repair")]
    NothingApplied(String),
    /// The file was changed at that place since.
    #[error("the repaired lines changed since; nothing was touched")]
    Changed,
    /// The file could not be written.
    #[error(transparent)]
    Target(TargetFault),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// Puts the original span back; running processes follow at their next call or start.
///
/// # Errors
/// [`Revert`]; the file is then whole and as it was.
pub fn revert(store: &dyn Store, given: &str) -> Result<Report, Revert> {
    let id = show::find(store, given)?;
    let receipt = store.receipt(&id)?.filter(|receipt| receipt.state == ReceiptState::Done);
    let Some(receipt) = receipt else { return Err(Revert::NothingApplied(id.to_string())) };
    restore(Path::new(&receipt.path), &receipt).map_err(|fault| match fault {
        TargetFault::Changed => Revert::Changed,
        other => Revert::Target(other),
    })?;
    take_back(Path::new(&receipt.path), &id.to_string()).map_err(Revert::Target)?;
    let payload = json!({
        "outcome": Outcome::RolledBack, "reason": Reason::Denied, "declined": [],
        "detail": format!("taken back by {}", person::current().name),
    });
    let entry = Entry {
        incident: id.clone(),
        step: "closed".to_owned(),
        at: SystemClock::new().now(),
        payload: Redactor::standard().json(&payload),
    };
    store.append_and_settle(&entry, ReceiptState::Undone)?;
    Ok(Report::of(store, &id)?)
}
