//! Silences: made, listed, ended (S50).

use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::port::StoreFault;
use sanare_core::redact::Redactor;
use sanare_core::service::run::Change;
use sanare_core::service::silence::{Field, Matcher, Test};
use sanare_core::service::{Application, Invalid, Moment, NotMade, Silence, Text};
use sanare_detect::silence::Hush;
use serde_json::{Value as Json, json};

use super::incidents::{NotFound, by_id};
use crate::service::watch::fault;
use crate::service::{Healer, UnknownService};
use crate::wire::person;

/// A silence as it is asked for.
#[derive(Clone, Debug, Default)]
pub struct Hushed {
    /// All have to hold.
    pub matchers: Vec<Matcher>,
    /// Whether everything is meant.
    pub all: bool,
    /// Why, in at least five characters.
    pub reason: String,
    /// From when; now, if nothing is said.
    pub start: Option<Moment>,
    /// How long, in microseconds, where no end is given.
    pub length: Option<u64>,
    /// Until when.
    pub end: Option<Moment>,
}

/// Why there is no silence.
#[derive(Debug, thiserror::Error)]
pub enum NotSilenced {
    /// What was asked for is refused.
    #[error(transparent)]
    Refused(#[from] Invalid),
    /// It names a service that is not configured.
    #[error(transparent)]
    UnknownService(#[from] UnknownService),
    /// There is no such silence.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// Names that incidents have and no service: all services together, and alerts that no mapping names.
const OTHERS: [&str; 2] = ["fleet", "unmapped"];

impl Healer {
    /// Silences incidents: they are recorded, nothing is begun and nobody is told. Whoever watches takes notice within a
    /// second; a run that has prepared its act is not cut by it.
    ///
    /// # Errors
    /// [`NotSilenced`]; then nothing changed.
    pub fn silence(&self, asked: Hushed) -> Result<Silence, NotSilenced> {
        for matcher in asked.matchers.iter().filter(|matcher| matcher.field == Field::Application) {
            let names: Vec<&String> = match &matcher.test {
                Test::Equals(name) => vec![name],
                Test::OneOf(names) => names.iter().collect(),
                Test::Matches(_) => Vec::new(),
            };
            for name in names.into_iter().filter(|name| !OTHERS.contains(&name.as_str())) {
                self.setup().has(&Application::parse(name.as_str())?)?;
            }
        }
        let now = self.clock().now();
        let start = asked.start.unwrap_or(Moment::from_millis(now));
        let end = asked.end.or_else(|| asked.length.map(|length| start.plus(length)));
        let silence = Silence {
            id: Id::new("sil", now, self.clock().chance()),
            matchers: asked.matchers,
            author: person::current().name,
            reason: Text::of(&asked.reason),
            start,
            end: end.ok_or_else(|| Invalid::new("end", "is missing"))?,
            all: asked.all,
            ended_by: None,
        };
        if silence.end <= Moment::from_millis(now) {
            return Err(Invalid::new("end", "has passed").into());
        }
        let silence = Hush::new(silence)?.silence().clone();
        self.keep(&silence, "silence", &json!({ "silence": silence }))?;
        Ok(silence)
    }

    /// Silences that are on or are still to come.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn silences(&self) -> Result<Vec<Silence>, StoreFault> {
        self.store().silences(Moment::from_millis(self.clock().now()))
    }

    /// Ends a silence now, by its id or the beginning of it: what still fires goes on with fresh evidence.
    ///
    /// # Errors
    /// [`NotSilenced`]; then nothing changed.
    pub fn end_silence(&self, id: &str) -> Result<Silence, NotSilenced> {
        let all = self.silences()?;
        let found = by_id(&all, id, |silence| &silence.id)?;
        let (now, by) = (Moment::from_millis(self.clock().now()), person::current().name);
        let ended = Silence { end: found.end.min(now), ended_by: Some(by.clone()), ..found.clone() };
        self.keep(&ended, "silence_ended", &json!({ "silence": ended.id, "by": by }))?;
        Ok(ended)
    }

    fn keep(&self, silence: &Silence, step: &str, payload: &Json) -> Result<(), StoreFault> {
        let at = self.clock().now();
        let mut payload = payload.clone();
        if let (Some(payload), Some(application)) = (payload.as_object_mut(), silence.application()) {
            // It is in the service's own chain, and goes with it.
            payload.insert("application".to_owned(), application.into());
        }
        let payload = Redactor::standard().json(&payload);
        let entry = Entry { incident: silence.id.clone(), step: step.to_owned(), at, payload };
        let change = Change { now: at, entries: vec![entry], silences: vec![silence.clone()], ..Change::default() };
        self.store().commit(&change).map(drop).map_err(fault)
    }
}

/// Why a storm was not lifted.
#[derive(Debug, thiserror::Error)]
pub enum NotLifted {
    /// There is none.
    #[error("there is no storm")]
    NoStorm,
    /// It names a service that is not configured.
    #[error(transparent)]
    UnknownService(#[from] UnknownService),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

impl Healer {
    /// Lifts the storm that holds, for one application or for all: recorded, and its runs go on (S52).
    ///
    /// # Errors
    /// [`NotLifted`]; then nothing changed.
    pub fn lift_storm(&self, application: Option<&Application>) -> Result<Id, NotLifted> {
        if let Some(application) = application {
            self.setup().has(application)?;
        }
        let key =
            format!("{}{}", crate::service::calm::LIFTED, application.map(Application::as_str).unwrap_or_default());
        let (house, by) = (self.house(), person::current().name);
        self.within(&house, |acting| acting.lift_storm(application, &key, &by)).map_err(|not| match not {
            NotMade::Moved(_) => NotLifted::NoStorm,
            other => NotLifted::Store(fault(other)),
        })
    }
}
