//! The list of incidents, newest first.

use sanare_core::port::{Store, StoreFault};

use crate::report::Report;

/// Reports of the newest incidents, those of one status only if one is given.
///
/// # Errors
/// [`StoreFault`].
pub fn incidents(store: &dyn Store, status: Option<&str>, limit: usize) -> Result<Vec<Report>, StoreFault> {
    of_kind(store, "incident", status, limit)
}

/// The same for one kind of record: `incident` or `capture`.
///
/// # Errors
/// [`StoreFault`].
pub fn of_kind(store: &dyn Store, kind: &str, status: Option<&str>, limit: usize) -> Result<Vec<Report>, StoreFault> {
    let mut reports = Vec::new();
    for id in store.incidents(usize::MAX)? {
        if reports.len() >= limit {
            break;
        }
        if (kind == "capture") != id.as_str().starts_with("cap_") {
            continue;
        }
        let report = Report::of(store, &id)?;
        if status.is_none_or(|wanted| report.status == wanted || report.outcome == wanted) {
            reports.push(report);
        }
    }
    Ok(reports)
}
