//! What is kept of services, a line at a time: readings, minutes, incidents, snapshots, receipts and approvals, redacted as
//! they are stored (S119). Records have an export of their own, with their hashes.

use std::collections::VecDeque;

use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::port::{Item, Keeper, Sort, StoreFault};
use sanare_core::redact::Redactor;
use sanare_core::service::{Application, Change, Invalid, Moment};
use serde_json::{Value as Json, json};

use crate::operations::ledger::Wanted;
use crate::service::Healer;
use crate::service::watch::fault;
use crate::wire::person;

/// Lines that are read at once: never more are in memory.
const TOGETHER: usize = 500;
/// The form of the lines.
const FORMAT: u32 = 1;

/// Why nothing is exported.
#[derive(Debug, thiserror::Error)]
pub enum NotGiven {
    /// A service that nobody knows.
    #[error("nothing is kept of `{given}`, and it is not configured: there is {known}")]
    Unknown {
        /// What was given.
        given: String,
        /// What is configured.
        known: String,
    },
    /// What is wanted cannot be.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The store failed, or is a stand-in.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// An export under way: lines of JSON. The first says what it is of, the last how many lines were between: without it the export
/// is not whole.
pub struct Export {
    healer: Healer,
    wanted: Wanted,
    sorts: VecDeque<Sort>,
    after: String,
    page: VecDeque<Item>,
    /// The newest reading when it began: what comes meanwhile is not chased.
    newest: u64,
    begun: bool,
    given: u64,
    over: bool,
}

impl Healer {
    /// What is kept of a service or of all, of the sorts that are wanted (none: of all). That it was asked for, and by whom, is
    /// a record before the first line is given. The times of what lasts, such as an incident, are those that it touches.
    ///
    /// # Errors
    /// [`NotGiven`].
    pub fn export(&self, wanted: Wanted, sorts: &[Sort]) -> Result<Export, NotGiven> {
        if let (Some(since), Some(until)) = (wanted.since, wanted.until)
            && until <= since
        {
            return Err(Invalid::new("until", "is not after `since`").into());
        }
        let keeper = keeper(self)?;
        if let Some(given) = &wanted.application {
            let mut kept = false;
            for sort in Sort::ALL {
                kept |= !keeper.items(sort, Some(given), "", 1)?.is_empty();
            }
            let known = Application::parse(given.as_str()).is_ok_and(|given| self.setup().has(&given).is_ok());
            if !kept && !known {
                let known = self.setup();
                let known: Vec<String> = known.configuration.services.keys().map(|one| format!("`{one}`")).collect();
                let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
                return Err(NotGiven::Unknown { given: given.clone(), known });
            }
        }
        let sorts: VecDeque<Sort> =
            Sort::ALL.into_iter().filter(|sort| sorts.is_empty() || sorts.contains(sort)).collect();
        let newest = self.store().newest_sequence()?;
        let now = self.clock().now();
        let told = json!({ "by": person::current().name, "wanted": wanted, "sorts": sorts });
        let payload = Redactor::standard().json(&told);
        let incident = Id::new("exp", now, self.clock().chance());
        let entry = Entry { incident, step: "exported".to_owned(), at: now, payload };
        self.store().commit(&Change { now, entries: vec![entry], ..Change::default() }).map_err(fault)?;
        Ok(Export {
            healer: self.clone(),
            wanted,
            sorts,
            after: String::new(),
            page: VecDeque::new(),
            newest,
            begun: false,
            given: 0,
            over: false,
        })
    }
}

fn keeper(healer: &Healer) -> Result<&dyn Keeper, StoreFault> {
    let keeper = healer.store().whole().and_then(|whole| whole.keeper());
    keeper.ok_or_else(|| StoreFault::Unusable("nothing can be exported of this store".to_owned()))
}

impl Export {
    fn head(&self) -> Result<Json, StoreFault> {
        let at = Moment::from_millis(self.healer.clock().now());
        let store = keeper(&self.healer)?.store_id()?;
        Ok(json!({ "kind": "export", "format": FORMAT, "store": store, "at": at, "wanted": self.wanted }))
    }

    fn line(&mut self) -> Result<Option<Json>, StoreFault> {
        if !self.begun {
            self.begun = true;
            return self.head().map(Some);
        }
        while let Some(sort) = self.sorts.front().copied() {
            if let Some(item) = self.page.pop_front() {
                if self.fits(sort, &item) {
                    self.given += 1;
                    return Ok(Some(line(sort, item)));
                }
                continue;
            }
            let of = self.wanted.application.as_deref();
            self.page = keeper(&self.healer)?.items(sort, of, &self.after, TOGETHER)?.into();
            let newer = |item: &Item| {
                sort == Sort::Observation && item.place.parse::<u64>().is_ok_and(|place| place > self.newest)
            };
            let last = self.page.back().map(|item| item.place.clone());
            self.page.retain(|item| !newer(item));
            match last {
                Some(last) if !self.page.is_empty() => self.after = last,
                _ => {
                    self.sorts.pop_front();
                    self.after.clear();
                }
            }
        }
        self.over = true;
        Ok(Some(json!({ "kind": "end", "lines": self.given })))
    }

    /// Whether it is of the time that is wanted.
    fn fits(&self, sort: Sort, item: &Item) -> bool {
        let (from, until) = times(sort, &item.value);
        // What tells no time of its own is not left out by one.
        self.wanted.until.is_none_or(|end| from.is_none_or(|from| from < end))
            && self.wanted.since.is_none_or(|since| until.is_none_or(|until| until >= since))
    }
}

impl Iterator for Export {
    type Item = Result<Json, StoreFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let line = self.line().transpose();
        // After a fault there is no end, so that nobody takes it for whole.
        self.over |= !matches!(line, Some(Ok(_)));
        line
    }
}

fn line(sort: Sort, item: Item) -> Json {
    let Item { place, application, value } = item;
    let mut line = json!({ "kind": sort.word(), "application": application, "value": value });
    if sort == Sort::Snapshot {
        // By it a receipt names the picture that it was decided by.
        line["digest"] = place.into();
    }
    line
}

/// When it began and when it ended, in milliseconds since 1970.
fn times(sort: Sort, value: &Json) -> (Option<u64>, Option<u64>) {
    let time = |names: &[&str]| {
        let told = names.iter().find_map(|name| value.pointer(name)?.as_str());
        told.and_then(|text| Moment::parse(text).ok()).map(Moment::millis)
    };
    let (from, until): (&[&str], &[&str]) = match sort {
        Sort::Observation => (&["/event_time"], &["/event_time"]),
        Sort::Minute | Sort::Snapshot => (&["/at"], &["/at"]),
        Sort::Incident => (&["/opened"], &["/closed", "/updated"]),
        Sort::Receipt => (&["/intended_at"], &["/ended_at", "/started_at", "/intended_at"]),
        Sort::Approval => (&["/asked_at"], &["/ended/0", "/expires_at"]),
    };
    (time(from), time(until))
}
