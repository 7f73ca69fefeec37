//! A repair that a person approved later is only good once a real call says so (C98): the first call of the shape that
//! had failed makes it healed when it returns, and takes it back when it fails within the changed lines.

use std::path::Path;

use sanare_core::evidence::Argument;
use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::ledger::{Entry, Record};
use sanare_core::outcome::{Outcome, Reason};
use sanare_core::port::{Clock, Store, StoreFault};
use sanare_core::receipt::{Receipt, ReceiptState};
use sanare_core::redact::Redactor;
use sanare_effects::regular_file;
use serde_json::json;

use crate::wire::clock::SystemClock;
use crate::wire::target::restore;

/// What tells calls of one shape from others; no value of them.
pub fn shape_digest(source: &str, function: &str, arguments: &[Argument]) -> Digest {
    let shape = sanare_drift::shape::shape_of_call(source, function, arguments, None);
    Digest::of(serde_json::to_string(&shape.arguments).unwrap_or_default().as_bytes())
}

/// Notes the shape of the failing call beside an incident whose repair a later call may confirm.
///
/// # Errors
/// [`StoreFault`].
pub fn note(store: &dyn Store, incident: &Id, shape: &Digest) -> Result<(), StoreFault> {
    store.append(&entry(incident, "shape", &json!({ "shape": shape }))).map(drop)
}

/// The incident that a good call of this shape would confirm, if there is one.
///
/// # Errors
/// [`StoreFault`].
pub fn confirmable(store: &dyn Store, path: &str, function: &str, shape: &Digest) -> Result<Option<Id>, StoreFault> {
    for (receipt, records) in standing(store, path, function)? {
        let noted = records.iter().rev().find(|record| record.step == "shape").map(Record::json);
        if noted.is_some_and(|noted| noted["shape"] == shape.as_str()) {
            return Ok(Some(receipt.incident));
        }
    }
    Ok(None)
}

/// A call of the shape that had failed returned under the repair. Says whether that is what was missing.
///
/// # Errors
/// [`StoreFault`].
pub fn returned(store: &dyn Store, incident: &Id) -> Result<bool, StoreFault> {
    if !stands(&store.records(incident)?) {
        return Ok(false);
    }
    let payload = json!({
        "outcome": Outcome::Healed, "reason": Reason::Ok, "declined": [],
        "detail": "a call of the shape that had failed returned under the repair",
    });
    store.append_and_settle(&entry(incident, "closed", &payload), ReceiptState::Done)?;
    Ok(true)
}

/// A call failed at this line of the file: a repair that nothing has confirmed and that holds this line is taken back.
///
/// # Errors
/// [`StoreFault`].
pub fn failed(store: &dyn Store, path: &Path, function: &str, line: usize) -> Result<Option<Id>, StoreFault> {
    let shown = path.display().to_string();
    for (receipt, _) in standing(store, &shown, function)? {
        let Ok(bytes) = regular_file::read(path) else { continue };
        if Digest::of(&bytes) != receipt.after || !holds(&bytes, &receipt, line) {
            continue;
        }
        // A span that is another now is left alone: the repair stays, and the failure is healed like any other.
        if restore(path, &receipt).is_err() {
            continue;
        }
        let payload = json!({
            "outcome": Outcome::RolledBack, "reason": Reason::RerunFailed, "declined": [],
            "detail": "the first call under the repair failed within the changed lines; it was taken back",
        });
        store.append_and_settle(&entry(&receipt.incident, "closed", &payload), ReceiptState::Undone)?;
        return Ok(Some(receipt.incident));
    }
    Ok(None)
}

/// Whether a line, from 1, lies in the changed span.
fn holds(bytes: &[u8], receipt: &Receipt, line: usize) -> bool {
    let count = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    let first = 1 + count(bytes.get(..receipt.start).unwrap_or_default());
    (first..=first + count(&receipt.replacement)).contains(&line)
}

/// Repairs of a function that a person approved and no call has confirmed, newest first.
fn standing(store: &dyn Store, path: &str, function: &str) -> Result<Vec<(Receipt, Vec<Record>)>, StoreFault> {
    let mut found = Vec::new();
    for receipt in store.receipts_of_function(path, function)?.into_iter().rev() {
        let records = store.records(&receipt.incident)?;
        if stands(&records) {
            found.push((receipt, records));
        }
    }
    Ok(found)
}

fn stands(records: &[Record]) -> bool {
    let last = records.iter().rev().find(|record| matches!(record.step.as_str(), "applied" | "closed" | "undoing"));
    last.is_some_and(|last| last.step == "applied" && last.json()["standing"]["reason"] == "unconfirmed")
}

fn entry(incident: &Id, step: &str, payload: &serde_json::Value) -> Entry {
    let payload = Redactor::standard().json(payload);
    Entry { incident: incident.clone(), step: step.to_owned(), at: SystemClock::new().now(), payload }
}
