//! Incidents: the newest, and one by its id.

use sanare_core::id::Id;
use sanare_core::ledger::Record;
use sanare_core::port::StoreFault;
use sanare_core::service::Incident;

use crate::service::Healer;

/// Why one thing is not found.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    /// Nothing begins so.
    #[error("no `{0}` here")]
    Unknown(String),
    /// Several do.
    #[error("`{given}` is the beginning of {count}")]
    Ambiguous {
        /// What was given.
        given: String,
        /// How many begin so.
        count: usize,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// Characters of an id that are needed, its kind apart.
const LEAST: usize = 6;

impl Healer {
    /// The newest incidents of services.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn incidents(&self, limit: usize) -> Result<Vec<Incident>, StoreFault> {
        self.store().newest_incidents(limit)
    }

    /// One incident with its records, by its id or the beginning of it.
    ///
    /// # Errors
    /// [`NotFound`].
    pub fn incident(&self, id: &str) -> Result<(Incident, Vec<Record>), NotFound> {
        let all = self.store().newest_incidents(10_000)?;
        let incident = by_id(&all, id, |incident| &incident.id)?.clone();
        let records = self.store().records_of(&incident.id)?;
        Ok((incident, records))
    }
}

/// The one whose id begins so: with its kind or without it.
pub(super) fn by_id<'a, T>(all: &'a [T], given: &str, id: impl Fn(&T) -> &Id) -> Result<&'a T, NotFound> {
    let bare = given.split_once('_').map_or(given, |(_, rest)| rest);
    let begins = |one: &&T| {
        let known = id(one).as_str();
        let rest = known.split_once('_').map_or(known, |(_, rest)| rest);
        known == given || (bare.len() >= LEAST && (known.starts_with(given) || rest.starts_with(given)))
    };
    let mut found = all.iter().filter(begins);
    match (found.next(), found.count()) {
        (Some(one), 0) => Ok(one),
        (Some(_), more) => Err(NotFound::Ambiguous { given: given.to_owned(), count: more + 1 }),
        (None, _) => Err(NotFound::Unknown(given.to_owned())),
    }
}
