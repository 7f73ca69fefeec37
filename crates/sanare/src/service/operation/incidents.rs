//! Incidents: the newest, and one by its id.

use sanare_core::id::Id;
use sanare_core::ledger::Record;
use sanare_core::port::StoreFault;
use sanare_core::service::Incident;
use sanare_core::service::step::Withheld;
use sanare_core::service::word::{Status, StepName};
use sanare_engine::service::next;

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
    /// It is there, and of the other half: no verb of services is for it.
    #[error("`{id}` is an incident of code ({what}), and not of a service")]
    OfCode {
        /// Its id.
        id: String,
        /// What failed.
        what: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// Characters of an id that are needed, its kind apart.
const LEAST: usize = 6;
/// Incidents among which one is looked for.
pub(super) const LOOKED_THROUGH: usize = 10_000;

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
        let all = self.store().newest_incidents(LOOKED_THROUGH)?;
        let incident = match by_id(&all, id, |incident| &incident.id) {
            Ok(incident) => incident.clone(),
            Err(NotFound::Unknown(given)) => return Err(self.of_code(given)?),
            Err(other) => return Err(other),
        };
        let records = self.store().records_of(&incident.id)?;
        Ok((incident, records))
    }

    /// What a person can do next about one that was handed over, as commands; nothing for any other.
    pub fn next_for(&self, incident: &Incident, records: &[Record]) -> Vec<String> {
        if incident.status() != Status::HandedOver {
            return Vec::new();
        }
        let last = records.iter().rfind(|record| record.step == StepName::Evident.word()).map(Record::json);
        let withheld = last.map(|mut payload| payload["withheld"].take());
        let withheld: Option<Vec<Withheld>> = withheld.and_then(|json| serde_json::from_value(json).ok());
        next(incident, &withheld.unwrap_or_default(), &self.model_history(&incident.application))
    }

    /// What an id that is none of a service's is, as far as its own records say.
    fn of_code(&self, given: String) -> Result<NotFound, StoreFault> {
        let records = self.store().records_of(&Id::from_text(given.as_str()))?;
        let opened = records.iter().find(|record| record.step == "opened").map(Record::json).unwrap_or_default();
        let word = |key: &str| opened["incident"][key].as_str();
        Ok(match (word("error"), word("function")) {
            (Some(error), Some(function)) => NotFound::OfCode { id: given, what: format!("{error} in `{function}`") },
            _ => NotFound::Unknown(given),
        })
    }
}

/// The one whose id begins so: with its kind or without it, in either case of letters.
pub(super) fn by_id<'a, T>(all: &'a [T], given: &str, id: impl Fn(&T) -> &Id) -> Result<&'a T, NotFound> {
    if let Some(exact) = all.iter().find(|one| id(one).as_str() == given) {
        return Ok(exact);
    }
    let mut found = all.iter().filter(|one| begins(id(one), given));
    match (found.next(), found.count()) {
        (Some(one), 0) => Ok(one),
        (Some(_), more) => Err(NotFound::Ambiguous { given: given.to_owned(), count: more + 1 }),
        (None, _) => Err(NotFound::Unknown(given.to_owned())),
    }
}

/// Whether an id begins so. What names a kind names that of the id; its own letters are capital.
pub(super) fn begins(id: &Id, given: &str) -> bool {
    let (kind, bare) = given.split_once('_').map_or((None, given), |(kind, rest)| (Some(kind), rest));
    let (of_kind, rest) = id.as_str().split_once('_').unwrap_or_default();
    kind.is_none_or(|kind| kind == of_kind) && bare.len() >= LEAST && rest.starts_with(&bare.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use sanare_core::id::Id;

    use super::{NotFound, by_id};

    #[test]
    fn an_id_is_named_by_six_characters_that_no_other_begins_with() {
        let (time, chance) = (1_767_225_600_000, 0x1234_5678_9ABC_DEF0_1234);
        let ids =
            [Id::new("inc", time, chance), Id::new("inc", time + (1 << 30), chance), Id::new("inc", time, chance + 1)];
        let check = |given: &str| match by_id(&ids, given, |id| id) {
            Ok(found) => ids.iter().position(|id| id == found).map_or("?".to_owned(), |place| place.to_string()),
            Err(NotFound::Ambiguous { count, .. }) => format!("{count} of them"),
            Err(error) => error.to_string(),
        };
        let first = ids[0].as_str();
        assert_eq!(check(first), "0");
        assert_eq!(check(&first[4..]), "0", "its kind is left out");
        assert_eq!(check(&first[4..].to_ascii_lowercase()), "0", "small letters");
        assert_eq!(check(&ids[1].as_str()[..10]), "1");
        assert_eq!(check(&ids[1].as_str()[4..10]), "1");
        assert_eq!(check(&first[..10]), "2 of them");
        let five = &ids[1].as_str()[..9];
        assert_eq!(check(five), format!("no `{five}` here"), "five are too few");
        let other = format!("rct_{}", &first[4..]);
        assert_eq!(check(&other), format!("no `{other}` here"), "another kind");
        for odd in ["", "inc_", "_", "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}"] {
            assert_eq!(check(odd), format!("no `{odd}` here"));
        }
    }
}
