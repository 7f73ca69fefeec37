//! One incident, by its id or a unique prefix.

use sanare_core::id::Id;
use sanare_core::ledger::Record;
use sanare_core::port::{Store, StoreFault};

use serde_json::Value as Json;

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
    /// It is there, and of the other half: no verb of code healing is for it.
    #[error("`{id}` is an incident of a service ({what}), and not of code")]
    OfService {
        /// Its id.
        id: String,
        /// Service and kind.
        what: String,
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
    let of_services = store.service_incidents()?;
    if let Some(exact) = of_services.iter().find(|id| bare(id) == wanted) {
        return Err(of_service(store, exact)?);
    }
    // What begins an id of each half names neither.
    let both = all.iter().chain(&of_services);
    let hits: Vec<&Id> = both.filter(|id| wanted.len() >= 6 && bare(id).starts_with(&wanted)).collect();
    match hits.as_slice() {
        [] => Err(Show::Unknown(given.to_owned())),
        [only] if of_services.contains(only) => Err(of_service(store, only)?),
        [only] => Ok((*only).clone()),
        [first, ..] => Err(Show::Ambiguous { given: given.to_owned(), count: hits.len(), first: first.to_string() }),
    }
}

/// What an incident of a service is, by the record that opened it.
fn of_service(store: &dyn Store, id: &Id) -> Result<Show, StoreFault> {
    let records = store.records(id)?;
    let opened = records.iter().find(|record| record.step == "opened").map(Record::json).unwrap_or_default();
    let word = |key: &str| opened["incident"][key].as_str().unwrap_or("unknown").to_owned();
    Ok(Show::OfService { id: id.to_string(), what: format!("{}: {}", word("application"), word("kind")) })
}

/// Its report.
///
/// # Errors
/// [`Show`].
pub fn show(store: &dyn Store, given: &str) -> Result<Report, Show> {
    let id = find(store, given)?;
    Ok(Report::of(store, &id)?)
}

/// One call to a model, as it is recorded: what was sent, redacted, what came of it by class, what it cost.
///
/// # Errors
/// [`Show`].
pub fn prompts(store: &dyn Store, given: &str) -> Result<Vec<Json>, Show> {
    let id = find(store, given)?;
    let records = store.records(&id)?;
    Ok(records.iter().filter(|record| record.step == "model_call").map(Record::json).collect())
}

/// The same for people: every text that was sent, as it was sent.
pub fn prompts_text(prompts: &[Json]) -> String {
    let mut parts = Vec::new();
    for prompt in prompts {
        let words = |key: &str| prompt[key].as_str().unwrap_or_default().to_owned();
        let turn = if prompt["repair_turn"] == true { ", repair turn" } else { "" };
        parts.push(format!(
            "--- attempt {}{turn}: {} {}, prompt {} v{}: {}",
            prompt["attempt"],
            words("provider"),
            words("model"),
            prompt["prompt"]["id"].as_str().unwrap_or_default(),
            prompt["prompt"]["version"],
            words("came"),
        ));
        let sent = &prompt["sent"];
        let messages = sent["messages"].as_array().into_iter().flatten().map(|message| &message["content"]);
        let texts: Vec<&str> =
            [&sent["system"], &sent["user"]].into_iter().chain(messages).filter_map(Json::as_str).collect();
        parts.extend(texts.into_iter().map(str::to_owned));
    }
    parts.join("\n")
}
