//! Lifting the rest of a failure, so that its next occurrence is worked on again (C118).

use sanare_core::ledger::{Entry, Record};
use sanare_core::port::store::Rest;
use sanare_core::port::{Clock, Store};
use sanare_core::redact::Redactor;
use sanare_engine::run::CONTINUED;
use serde_json::json;

use crate::operations::heal::adoption_rest;
use crate::operations::show::{self, Show};
use crate::report::Report;
use crate::wire::clock::SystemClock;

/// The failure as each of its targets met it: an incident may have gone on to an outer function.
fn fingerprints(records: &[Record]) -> Vec<String> {
    let begun = records.iter().filter(|record| matches!(record.step.as_str(), "opened" | CONTINUED));
    begun.filter_map(|record| record.json()["incident"]["fingerprint"].as_str().map(str::to_owned)).collect()
}

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
    let others = store.incidents(usize::MAX)?;
    for fingerprint in fingerprints(&store.records(&id)?) {
        lift(&fingerprint)?;
        for other in &others {
            lift(&adoption_rest(&fingerprint, other))?;
        }
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
