//! The ledger as a whole: its head, whether it still has a head that was noted elsewhere, and its export (S116, S117, S119).

use std::collections::{BTreeSet, HashMap};

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::ledger::{ChainBreak, Entry, Record};
use sanare_core::port::{Clock, Store, StoreFault};
use sanare_core::redact::Redactor;
use serde::Serialize;
use serde_json::json;

use crate::wire::clock::SystemClock;
use crate::wire::person;

/// Records that are read at once.
const TOGETHER: usize = 1_000;

/// The last record of a chain that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Head {
    /// Its place: as many records there are.
    pub seq: u64,
    /// Its hash: over it and all before it.
    pub hash: Digest,
}

impl std::fmt::Display for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl Head {
    /// Reads `SEQ:HASH`, as it is printed.
    pub fn parse(text: &str) -> Option<Self> {
        let (seq, hash) = text.trim().split_once(':')?;
        Some(Self { seq: seq.parse().ok().filter(|seq| *seq > 0)?, hash: Digest::parse(hash)? })
    }
}

/// The head, once the whole chain was looked at; nothing where nothing is recorded.
///
/// # Errors
/// [`StoreFault`].
pub fn head(store: &dyn Store) -> Result<Result<Option<Head>, ChainBreak>, StoreFault> {
    let count = match store.verify()? {
        Ok(0) => return Ok(Ok(None)),
        Ok(count) => count,
        Err(broken) => return Ok(Err(broken)),
    };
    let last = store.ledger_after(count - 1, 1)?;
    Ok(Ok(last.first().map(|record| Head { seq: record.seq, hash: record.hash.clone() })))
}

/// Whether a chain that holds has the record of a head that was noted before: a chain alone cannot show that its newest
/// records were cut.
///
/// # Errors
/// [`StoreFault`].
pub fn has(store: &dyn Store, noted: &Head) -> Result<Result<(), ChainBreak>, StoreFault> {
    let found = store.ledger_after(noted.seq.saturating_sub(1), 1)?;
    let broken = |what: String| Ok(Err(ChainBreak { seq: noted.seq, what }));
    match found.first().filter(|record| record.seq == noted.seq) {
        Some(record) if record.hash == noted.hash => Ok(Ok(())),
        Some(_) => broken(
            "it is another record than the noted head: the chain was made anew, or is of another store".to_owned(),
        ),
        None => {
            broken(format!("records are gone: the noted head is record {}, and the chain ends before it", noted.seq))
        }
    }
}

/// What is exported.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Wanted {
    /// From when, in milliseconds since 1970.
    pub since: Option<u64>,
    /// Until when, itself not included.
    pub until: Option<u64>,
    /// Of which service or project.
    pub application: Option<String>,
}

/// Why nothing is exported.
#[derive(Debug, thiserror::Error)]
pub enum NotExported {
    /// Nothing is recorded of it.
    #[error("nothing is recorded of `{given}`: there is {known}")]
    Unknown {
        /// What was given.
        given: String,
        /// Of what there is.
        known: String,
    },
    /// What takes it failed.
    #[error("the output cannot be written: {0}")]
    Output(#[from] std::io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// Hands over the records that are wanted, in order and as they are, so that hashes can be looked at; how many. That it was
/// done, and by whom, is a record of the ledger itself before the first is handed over.
///
/// # Errors
/// [`NotExported`].
pub fn export(
    store: &dyn Store,
    wanted: &Wanted,
    mut take: impl FnMut(&Record) -> std::io::Result<()>,
) -> Result<u64, NotExported> {
    let (mut owners, mut applications, mut count, mut end) = (HashMap::new(), BTreeSet::new(), 0_u64, 0);
    each(store, u64::MAX, |record| {
        end = record.seq;
        let owner = owner(record, &mut owners);
        count += u64::from(fits(record, owner.as_deref(), wanted));
        applications.extend(owner);
        Ok(())
    })?;
    if let Some(given) = wanted.application.as_ref().filter(|given| !applications.contains(*given)) {
        let known: Vec<String> = applications.iter().map(|one| format!("`{one}`")).collect();
        let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
        return Err(NotExported::Unknown { given: given.clone(), known });
    }
    let clock = SystemClock::new();
    store.chain(&Entry {
        incident: Id::new("exp", clock.now(), clock.chance()),
        step: "exported".to_owned(),
        at: clock.now(),
        payload: Redactor::standard()
            .json(&json!({ "by": person::current().name, "wanted": wanted, "records": count })),
    })?;
    owners.clear();
    each(store, end, |record| {
        let owner = owner(record, &mut owners);
        if fits(record, owner.as_deref(), wanted) { take(record) } else { Ok(()) }
    })?;
    Ok(count)
}

/// Goes through the ledger up to a place, never with all of it in memory.
fn each(store: &dyn Store, end: u64, mut look: impl FnMut(&Record) -> std::io::Result<()>) -> Result<(), NotExported> {
    let mut seq = 0;
    loop {
        let records = store.ledger_after(seq, TOGETHER)?;
        for record in records.iter().filter(|record| record.seq <= end) {
            look(record)?;
        }
        match records.last() {
            Some(last) if last.seq < end => seq = last.seq,
            _ => return Ok(()),
        }
    }
}

/// Of which service or project a record is: as the one that opened its incident says, or it itself.
fn owner(record: &Record, known: &mut HashMap<Id, String>) -> Option<String> {
    if let Some(owner) = known.get(&record.incident) {
        return Some(owner.clone());
    }
    let json = record.json();
    let named = json["incident"]["application"].as_str().or(json["incident"]["project"].as_str());
    let owner = named.or(json["application"].as_str())?.to_owned();
    known.insert(record.incident.clone(), owner.clone());
    Some(owner)
}

fn fits(record: &Record, owner: Option<&str>, wanted: &Wanted) -> bool {
    wanted.since.is_none_or(|since| record.at >= since)
        && wanted.until.is_none_or(|until| record.at < until)
        && wanted.application.as_deref().is_none_or(|wanted| owner == Some(wanted))
}
