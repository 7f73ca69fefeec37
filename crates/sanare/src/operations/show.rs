//! One incident, by its id or a unique prefix.

use sanare_core::id::Id;
use sanare_core::port::{Store, StoreFault};

use crate::report::Report;

/// Why an incident could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum Show {
    /// No incident has this id.
    #[error("no incident `{0}`")]
    Unknown(String),
    /// More than one id begins so.
    #[error("`{given}` is the beginning of {count} ids: {first}, …")]
    Ambiguous {
        /// What was given.
        given: String,
        /// How many there are.
        count: usize,
        /// One of them.
        first: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// The full id behind an id or prefix of at least six characters.
///
/// # Errors
/// [`Show`].
pub fn find(store: &dyn Store, given: &str) -> Result<Id, Show> {
    let all = store.incidents(usize::MAX)?;
    let strip = |text: &str| -> String {
        let stripped = text.strip_prefix("inc_").or_else(|| text.strip_prefix("cap_"));
        stripped.unwrap_or(text).to_owned()
    };
    let bare = |id: &Id| strip(id.as_str());
    let wanted = strip(given).to_ascii_uppercase();
    if let Some(exact) = all.iter().find(|id| bare(id) == wanted) {
        return Ok(exact.clone());
    }
    let hits: Vec<&Id> = all.iter().filter(|id| wanted.len() >= 6 && bare(id).starts_with(&wanted)).collect();
    match hits.as_slice() {
        [] => Err(Show::Unknown(given.to_owned())),
        [only] => Ok((*only).clone()),
        [first, ..] => Err(Show::Ambiguous { given: given.to_owned(), count: hits.len(), first: first.to_string() }),
    }
}

/// Its report.
///
/// # Errors
/// [`Show`].
pub fn show(store: &dyn Store, given: &str) -> Result<Report, Show> {
    let id = find(store, given)?;
    let mut report = Report::from_records(&id, &store.records(&id)?);
    report.occurrences = store.rest(&report.fingerprint)?.occurrences.max(report.occurrences);
    Ok(report)
}
