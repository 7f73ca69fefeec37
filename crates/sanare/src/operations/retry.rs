//! Lifting the rest of a failure, so that its next occurrence is worked on again (C118).

use sanare_core::ledger::Entry;
use sanare_core::port::store::Rest;
use sanare_core::port::{Clock, Store};
use sanare_core::redact::Redactor;
use serde_json::json;

use crate::operations::heal::adoption_rest;
use crate::operations::show::{self, Show};
use crate::report::Report;
use crate::wire::clock::SystemClock;

/// Ends the rest of the incident's failure and of its tries to adopt a repair; the incident gets a note. Budgets stay as
/// they are: they are for all failures together.
///
/// # Errors
/// [`Show`].
pub fn retry(store: &dyn Store, given: &str) -> Result<Report, Show> {
    let report = show::show(store, given)?;
    let id = show::find(store, given)?;
    let lift = |key: &str| match store.rest(key)? {
        rest if rest == Rest::default() => Ok(()),
        rest => store.set_rest(key, &Rest { until: 0, times: 0, ..rest }),
    };
    lift(&report.fingerprint)?;
    for other in store.incidents(usize::MAX)? {
        lift(&adoption_rest(&report.fingerprint, &other))?;
    }
    let entry = Entry {
        incident: id,
        step: "retried".to_owned(),
        at: SystemClock::new().now(),
        payload: Redactor::standard().json(&json!({})),
    };
    store.append(&entry)?;
    Ok(report)
}
