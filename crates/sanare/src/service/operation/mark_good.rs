//! A person calls a version known-good (S87).

use std::collections::BTreeMap;

use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::redact::Redactor;
use sanare_core::service::run::Change;
use sanare_core::service::{
    Application, Draft, Labels, Moment, NotMade, Observation, ObservedValue, Signal, Source, Stamp, Text, Trust,
    Version,
};
use serde_json::json;

use crate::service::Healer;
use crate::service::detectors::PERSON;
use crate::wire::person;

/// Why a version was not marked.
#[derive(Debug, thiserror::Error)]
pub enum NotMarked {
    /// A reason is needed.
    #[error("a reason is needed")]
    NoReason,
    /// It could not be stored.
    #[error(transparent)]
    NotMade(#[from] NotMade),
}

impl Healer {
    /// Marks a version, as the account that runs this process; it is in the ledger with the reason.
    ///
    /// # Errors
    /// [`NotMarked`]; then nothing changed.
    pub fn mark_good(&self, application: &Application, version: &Version, reason: &str) -> Result<(), NotMarked> {
        let reason = Text::<300>::of(reason);
        if reason.is_empty() {
            return Err(NotMarked::NoReason);
        }
        let invalid = |error: sanare_core::service::Invalid| NotMade::Moved(error.to_string());
        let (now, clock) = (Moment::from_millis(self.clock().now()), self.clock());
        let name = person::current().name;
        let plain: String =
            name.chars().filter(|symbol| symbol.is_ascii_graphic() || *symbol == ' ').take(100).collect();
        let labels = Labels::new(BTreeMap::from([("marked_good".to_owned(), plain)])).map_err(invalid)?;
        let value = ObservedValue::Deployment { before: None, after: version.clone() };
        let draft = Draft::new(application.clone(), Signal::parse("known_good").map_err(invalid)?, value);
        let id = Id::new("obs", clock.now(), clock.chance());
        let source = Source::parse(PERSON).map_err(invalid)?;
        let stamp = Stamp { id: id.clone(), arrival: now, source, trust: Trust::Own };
        let seen = Observation::accept(Draft { labels, ..draft }, stamp).map_err(invalid)?;
        let payload = json!({ "application": application, "version": version, "by": name, "reason": reason });
        let change = Change {
            now: now.millis(),
            entries: vec![Entry {
                incident: id,
                step: "marked_good".to_owned(),
                at: now.millis(),
                payload: Redactor::standard().json(&payload),
            }],
            observations: vec![seen.clone()],
            ..Change::default()
        };
        self.store().commit(&change)?;
        self.remember(&seen);
        Ok(())
    }
}
