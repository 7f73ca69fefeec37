//! Recovery: at the next start, what an earlier process left open is settled, once.

use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::outcome::{Outcome, Reason};
use sanare_core::port::{Clock, Store, StoreFault};
use sanare_core::receipt::{Receipt, ReceiptState, World};
use sanare_core::redact::Redactor;
use serde_json::{Value as Json, json};

/// What was settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The incident.
    pub incident: Id,
    /// What the world said, if there was a receipt.
    pub world: Option<World>,
    /// How it stands now, in words.
    pub outcome: String,
}

/// Settles every incident that no process is running any more.
///
/// Without a receipt nothing was done, and nothing can be: the arguments died with the process. With one the file is
/// compared with it: as before, the act never happened; as after, the repair stands and waits for a call to confirm it;
/// neither, a person is told and nothing is touched.
///
/// `alive` says whether the process that runs an incident still lives; `digest_of` hashes a file.
///
/// # Errors
/// [`StoreFault`].
pub fn settle(
    store: &dyn Store,
    clock: &dyn Clock,
    alive: &dyn Fn(&Id) -> bool,
    digest_of: &dyn Fn(&str) -> Option<sanare_core::hash::Digest>,
) -> Result<Vec<Settled>, StoreFault> {
    let mut settled = Vec::new();
    for incident in store.unfinished()? {
        if alive(&incident) {
            continue;
        }
        // What this user has no key for is settled by who has.
        let receipt = match store.receipt(&incident) {
            Err(StoreFault::Sealed(_)) => continue,
            receipt => receipt?.filter(|receipt| receipt.state == ReceiptState::Open),
        };
        settled.push(match receipt {
            Some(receipt) => with_receipt(store, clock, &receipt, digest_of)?,
            None => without_receipt(store, clock, &incident)?,
        });
    }
    Ok(settled)
}

fn without_receipt(store: &dyn Store, clock: &dyn Clock, incident: &Id) -> Result<Settled, StoreFault> {
    let detail = "the process ended before anything was changed";
    store.append(&closed(clock, incident, Outcome::Escalated, Reason::Internal, detail))?;
    Ok(Settled { incident: incident.clone(), world: None, outcome: detail.to_owned() })
}

fn with_receipt(
    store: &dyn Store,
    clock: &dyn Clock,
    receipt: &Receipt,
    digest_of: &dyn Fn(&str) -> Option<sanare_core::hash::Digest>,
) -> Result<Settled, StoreFault> {
    let world = receipt.compare(digest_of(&receipt.path).as_ref());
    let incident = &receipt.incident;
    let outcome = match world {
        World::Before => {
            let detail = "the process ended before the file was written; the file is as it was";
            let entry = closed(clock, incident, Outcome::Escalated, Reason::Internal, detail);
            store.append_and_settle(&entry, ReceiptState::Undone)?;
            detail
        }
        World::After => {
            let detail = "the process ended after the file was written; the repair stands until a call confirms it";
            let payload = json!({
                "in_file": true,
                "standing": { "reason": Reason::Unconfirmed, "detail": detail },
                "binding": { "before": receipt.before, "after": receipt.after },
            });
            store.append_and_settle(&entry(clock, incident, "applied", &payload), ReceiptState::Done)?;
            detail
        }
        World::Neither => {
            let detail = "the file is neither as before the repair nor as after it; it was not touched";
            let entry = closed(clock, incident, Outcome::Escalated, Reason::WorldChanged, detail);
            store.append_and_settle(&entry, ReceiptState::Undone)?;
            detail
        }
    };
    Ok(Settled { incident: incident.clone(), world: Some(world), outcome: outcome.to_owned() })
}

fn closed(clock: &dyn Clock, incident: &Id, outcome: Outcome, reason: Reason, detail: &str) -> Entry {
    let payload = json!({ "outcome": outcome, "reason": reason, "detail": detail, "declined": [] });
    entry(clock, incident, "closed", &payload)
}

fn entry(clock: &dyn Clock, incident: &Id, step: &str, payload: &Json) -> Entry {
    let payload = Redactor::standard().json(payload);
    Entry { incident: incident.clone(), step: step.to_owned(), at: clock.now(), payload }
}
