//! The ledger as a whole: its export, what is pruned of it, and what is erased of an application (S116, S119).

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::ledger::{ERASED, ERASING, Entry, PRUNED, Record, SYSTEM, Seal};
use sanare_core::port::{Clock, Erased, Keeper, NotErased, Sort, Store, StoreFault};
use sanare_core::redact::Redactor;
use sanare_core::service::{Application, Text};
use serde::Serialize;
use serde_json::json;

use crate::service::memoir::{ask_to_forget, is_forgotten};
use crate::wire::clock::SystemClock;
use crate::wire::person;

/// Records that are read at once.
const TOGETHER: usize = 1_000;
/// Rows of one transaction of an erasure.
const ROWS: usize = 250;
/// Between two of them.
const TURN: Duration = Duration::from_millis(2);
/// How long a healer that runs has to forget a service.
const DETECTION: Duration = Duration::from_secs(30);

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
    let told = json!({ "by": person::current().name, "wanted": wanted, "records": count });
    store.chain(&entry("exp", "exported", &told))?;
    owners.clear();
    each(store, end, |record| {
        let owner = owner(record, &mut owners);
        if fits(record, owner.as_deref(), wanted) { take(record) } else { Ok(()) }
    })?;
    Ok(count)
}

/// Why nothing was taken out.
#[derive(Debug, thiserror::Error)]
pub enum NotTakenOut {
    /// A reason is needed.
    #[error("a reason is needed")]
    NoReason,
    /// The chain does not hold: what is broken is not made to look whole.
    #[error("the ledger does not hold: record {0}: {1}")]
    Broken(u64, String),
    /// A healer runs and has not answered.
    #[error("the healer that runs has not forgotten `{0}` yet: nothing says that it is erased; erase it again")]
    Detection(String),
    /// This store is not looked after.
    #[error("nothing can be taken out of this store")]
    NoKeeper,
    /// It is refused.
    #[error(transparent)]
    NotErased(#[from] NotErased),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// Takes the oldest records of a chain out: those before a moment, in milliseconds since 1970, and before anything that is
/// still needed. Place and hash of the last stay. `None` where nothing is that old.
///
/// # Errors
/// [`NotTakenOut`]; then nothing was taken out.
pub fn prune(store: &dyn Store, chain: &str, before: u64, reason: &str) -> Result<Option<Seal>, NotTakenOut> {
    let reason = may_take_out(store, reason)?;
    let told = json!({ "by": person::current().name, "reason": reason, "chain": chain, "before": before });
    let keeper = store.keeper().ok_or(NotTakenOut::NoKeeper)?;
    Ok(keeper.prune(chain, before, &entry("prn", PRUNED, &told))?)
}

/// What went with an application.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forgotten {
    /// The record that says so.
    #[serde(skip)]
    pub record: Record,
    /// Payloads of records.
    pub payloads: u64,
    /// Rows of everything else.
    pub rows: u64,
    /// Records of the first format, whose payloads are within what is hashed: they stay until they are pruned.
    pub left: u64,
}

/// Forgets an application: its records keep their places and hashes and lose their payloads, and what else is kept of it goes,
/// a small transaction at a time, so that readings come in between. Ended wherever it may be, the same call goes on.
///
/// # Errors
/// [`NotTakenOut`]; then what went is gone, and no record says that all of it is.
pub fn erase(store: &dyn Store, application: &str, reason: &str) -> Result<Forgotten, NotTakenOut> {
    let reason = may_take_out(store, reason)?;
    let told = json!({ "by": person::current().name, "reason": reason, "of": application });
    let keeper = store.keeper().ok_or(NotTakenOut::NoKeeper)?;
    // What is no name of a service cannot be one of detection either.
    let named = Application::parse(application).ok();
    let services = keeper.services();
    let fingerprints = match &named {
        Some(named) => fingerprints(keeper, named)?,
        None => BTreeSet::new(),
    };
    let left = keeper.begin_erasing(application, &entry("era", ERASING, &told))?;
    if let Some(named) = &named {
        ask_to_forget(services, &SystemClock::new(), named, fingerprints)?;
    }
    let (mut payloads, mut rows) = (0, 0);
    loop {
        let gone = keeper.erase_some(application, ROWS)?;
        if gone == Erased::default() {
            break;
        }
        (payloads, rows) = (payloads + gone.payloads, rows + gone.rows);
        // Whoever waits for the store has its turn.
        std::thread::sleep(TURN);
    }
    let begin = Instant::now();
    while let Some(named) = &named
        && !is_forgotten(services, &SystemClock::new(), named)?
    {
        if begin.elapsed() > DETECTION {
            return Err(NotTakenOut::Detection(application.to_owned()));
        }
        std::thread::sleep(TURN * 10);
    }
    let record = keeper.end_erasing(application, &entry("era", ERASED, &told))?;
    Ok(Forgotten { record, payloads, rows, left })
}

/// By which detection knows the incidents of a service.
fn fingerprints(keeper: &dyn Keeper, application: &Application) -> Result<BTreeSet<Digest>, StoreFault> {
    let (mut all, mut after) = (BTreeSet::new(), String::new());
    loop {
        let page = keeper.items(Sort::Incident, Some(application.as_str()), &after, TOGETHER)?;
        let Some(last) = page.last() else { return Ok(all) };
        after.clone_from(&last.place);
        all.extend(page.iter().filter_map(|item| Digest::parse(item.value["fingerprint"].as_str()?)));
    }
}

fn may_take_out(store: &dyn Store, reason: &str) -> Result<Text, NotTakenOut> {
    let reason = Text::of(reason);
    if reason.is_empty() {
        return Err(NotTakenOut::NoReason);
    }
    store.verify()?.map_err(|broken| NotTakenOut::Broken(broken.seq, broken.what))?;
    Ok(reason)
}

fn entry(kind: &str, step: &str, told: &serde_json::Value) -> Entry {
    let clock = SystemClock::new();
    let (incident, payload) = (Id::new(kind, clock.now(), clock.chance()), Redactor::standard().json(told));
    Entry { incident, step: step.to_owned(), at: clock.now(), payload }
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

/// Of which service or project a record is: the one whose chain it is in; in the system's, as the one that opened its
/// incident says, or it itself.
fn owner(record: &Record, known: &mut HashMap<Id, String>) -> Option<String> {
    if record.chain != SYSTEM {
        return Some(record.chain.clone());
    }
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
