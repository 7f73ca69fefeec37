//! What detection goes on from after a restart: conditions, timers, what was found and not told yet (S19, S36).
//!
//! One process at a time keeps it, by a lease; it is read back by whoever has the lease next, and what was stored since is
//! fed again. What was found is kept before it is told, and that it was told is kept with the telling: nothing is told twice
//! and nothing is lost, wherever the process dies.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use sanare_core::hash::Digest;
use sanare_core::port::store::Lease;
use sanare_core::port::{Clock, StoreFault};
use sanare_core::service::run::Change;
use sanare_core::service::{Application, Moment, NotMade, Observation, ServiceStore};
use sanare_detect::bank::{Bank, Finding, Replay, Saved, Settings};
use sanare_detect::flapping::History;
use sanare_detect::storm::Weather;
use serde::{Deserialize, Serialize};

use super::accounts::Accounts;
use super::house::LiveHouse;
use super::pulse::Starts;
use super::timed::{Timed, moved, put_on, taken_off};
use super::watch::fault;

/// How often it is kept, in milliseconds (S36).
const EVERY: u64 = 30_000;
/// How long a process that is gone keeps others from going on, in milliseconds.
const LEASE: u64 = 10_000;
/// From so many milliseconds on a clock that was set back is one that jumped.
const JUMP: u64 = 60_000;
/// The form of the head.
const VERSION: u32 = 1;
/// Observations that are read together.
const TOGETHER: usize = 1_000;
/// The lease, and where all of it is kept.
pub(super) const KEY: &str = "detection";
const HEAD: &str = "detection/head";
const TOLD: &str = "detection/told";
/// What came in by each door.
pub(super) const INTAKE: &str = "detection/intake";
const BANK: &str = "detection/bank/";
/// Services that are to be forgotten, with the fingerprints of their incidents: for whoever keeps detection.
const FORGET: &str = "detection/forget/";

/// Everything that detection knows, beside the bank's states.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    version: u32,
    /// Who kept it.
    holder: String,
    /// When.
    at: Moment,
    /// Milliseconds by which the clock was set since the bank began.
    #[serde(default)]
    set_by: i64,
    /// Observations up to this place are in it.
    sequence: u64,
    /// The number, among all that were ever found, of the first of `pending`.
    first: u64,
    pending: VecDeque<(Finding, Vec<Observation>)>,
    histories: Vec<(Digest, History)>,
    owed: Vec<Finding>,
    weather: Weather,
    starts: Starts,
}

/// The same, as it is kept.
#[derive(Serialize)]
struct Kept<'a> {
    version: u32,
    holder: &'a str,
    at: Moment,
    set_by: i64,
    sequence: u64,
    first: u64,
    pending: &'a VecDeque<(Finding, Vec<Observation>)>,
    histories: Vec<(&'a Digest, &'a History)>,
    owed: Vec<&'a Finding>,
    weather: &'a Weather,
    starts: &'a Starts,
}

/// What is to be kept.
pub(super) struct Now<'a> {
    pub bank: &'a Timed,
    pub pending: &'a VecDeque<(Finding, Vec<Observation>)>,
    pub histories: &'a BTreeMap<Digest, History>,
    pub owed: &'a BTreeMap<Digest, Finding>,
    pub weather: &'a Weather,
    pub starts: &'a Starts,
    pub accounts: &'a Accounts,
}

/// What is kept, as it is taken up again.
pub(super) struct Known {
    pub bank: Timed,
    /// Whether the clock was set back since it was kept: nobody knows how old anything is.
    pub went_back: bool,
    pub pending: VecDeque<(Finding, Vec<Observation>)>,
    /// Of `pending` so many at its front were told before the process died.
    pub told: usize,
    pub histories: BTreeMap<Digest, History>,
    pub owed: BTreeMap<Digest, Finding>,
    pub weather: Weather,
    pub starts: Starts,
    pub accounts: Accounts,
}

/// The one that keeps it.
#[derive(Debug, Default)]
pub(super) struct Memoir {
    holder: String,
    lease: Option<Lease>,
    /// What is stored, by key: only what has changed is stored anew.
    stored: BTreeMap<String, Digest>,
    kept: Option<u64>,
    /// Findings told so far, ever.
    told: u64,
    /// What was forgotten because it was asked for, and is not kept so yet.
    forgotten: Vec<String>,
}

impl Memoir {
    /// Takes the lease, or goes on having it. Where another process had it meanwhile, or this one is new, what is kept is
    /// read back and what was stored since is fed again.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn take(&mut self, house: &LiveHouse, settings: &Arc<Settings>) -> Result<Option<Known>, StoreFault> {
        let store = &*house.store;
        if self.holder.is_empty() {
            self.holder = format!("watch/{:020x}", house.clock.chance());
        }
        let before = self.lease.take().map(|lease| lease.fence);
        self.lease = store.lease(KEY, &self.holder, house.clock.now(), LEASE)?;
        match &self.lease {
            Some(lease) if before != Some(lease.fence) => self.read(store, settings, house.clock.now()),
            _ => Ok(None),
        }
    }

    fn read(
        &mut self,
        store: &dyn ServiceStore,
        settings: &Arc<Settings>,
        now: u64,
    ) -> Result<Option<Known>, StoreFault> {
        let head = store.states(HEAD)?.pop().and_then(|(_, bytes)| serde_json::from_slice::<Head>(&bytes).ok());
        // A form that this version does not know is no form to guess at: detection begins anew.
        let Some(head) = head.filter(|head| head.version == VERSION) else { return Ok(None) };
        if head.holder == self.holder {
            return Ok(None);
        }
        let rows = store.states(BANK)?;
        self.stored = rows.iter().map(|(key, state)| (key.clone(), Digest::of(state))).collect();
        let records =
            rows.into_iter().filter_map(|(key, state)| Some((key.strip_prefix(BANK)?.to_owned(), state))).collect();
        let Ok(bank) = Bank::load(Arc::clone(settings), &Saved { sequence: head.sequence, records }) else {
            return Ok(None);
        };
        // Kept later than now: the clock was set back meanwhile, and that time goes on from where it was.
        let ahead = head.at.since(Moment::from_millis(now)) / 1_000;
        let back = if ahead > JUMP { -i64::try_from(ahead).unwrap_or(i64::MAX) } else { 0 };
        let accounts = store.states(INTAKE)?.pop();
        let told = store.states(TOLD)?.pop().and_then(|(_, bytes)| serde_json::from_slice::<u64>(&bytes).ok());
        let told = told.unwrap_or_default().max(head.first);
        let mut known = Known {
            bank: Timed { bank, set_by: head.set_by.saturating_add(back) },
            went_back: back != 0,
            told: usize::try_from(told - head.first).unwrap_or(usize::MAX).min(head.pending.len()),
            pending: head.pending,
            histories: head.histories.into_iter().collect(),
            owed: head.owed.into_iter().map(|finding| (finding.fingerprint.clone(), finding)).collect(),
            weather: head.weather,
            starts: head.starts,
            accounts: accounts.and_then(|(_, bytes)| serde_json::from_slice(&bytes).ok()).unwrap_or_default(),
        };
        self.told = head.first;
        feed(store, &mut known, head.sequence, moved(head.at, back))?;
        Ok(Some(known))
    }

    /// What is to be forgotten by whoever keeps it: services, each with the fingerprints of its incidents.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn asked_to_forget(
        &mut self,
        store: &dyn ServiceStore,
    ) -> Result<Vec<(Application, BTreeSet<Digest>)>, StoreFault> {
        if !self.is_keeper() {
            return Ok(Vec::new());
        }
        let asked = store.states(FORGET)?;
        self.forgotten = asked.iter().map(|(key, _)| key.clone()).collect();
        Ok(asked.iter().filter_map(|(key, bytes)| read_wish(key, bytes)).collect())
    }

    /// Whether this process is the one that keeps it.
    pub fn is_keeper(&self) -> bool {
        self.lease.is_some()
    }

    /// Whether it is time to keep it.
    pub fn is_due(&self, house: &LiveHouse) -> bool {
        let now = house.clock.elapsed();
        self.lease.is_some() && self.kept.is_none_or(|kept| now.saturating_sub(kept) >= EVERY)
    }

    /// Keeps all of it, in one transaction; nothing where another process has the lease.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn keep(&mut self, house: &LiveHouse, known: &Now<'_>) -> Result<(), StoreFault> {
        let Some(lease) = self.lease.clone() else { return Ok(()) };
        let (store, now) = (&*house.store, house.clock.now());
        let head = Kept {
            version: VERSION,
            holder: &self.holder,
            at: Moment::from_millis(now),
            set_by: known.bank.set_by,
            sequence: store.newest_sequence()?,
            first: self.told,
            pending: known.pending,
            histories: known.histories.iter().collect(),
            owed: known.owed.values().collect(),
            weather: known.weather,
            starts: known.starts,
        };
        let head = serde_json::to_vec(&head).map_err(|error| StoreFault::Unusable(error.to_string()))?;
        let accounts = serde_json::to_vec(known.accounts).map_err(|error| StoreFault::Unusable(error.to_string()))?;
        let mut states = vec![(HEAD.to_owned(), Some(head)), (INTAKE.to_owned(), Some(accounts))];
        let mut stored = BTreeMap::new();
        for (key, state) in known.bank.bank.save().records {
            let (key, digest) = (format!("{BANK}{key}"), Digest::of(&state));
            if self.stored.get(&key) != Some(&digest) {
                states.push((key.clone(), Some(state)));
            }
            stored.insert(key, digest);
        }
        states.extend(self.forgotten.iter().map(|key| (key.clone(), None)));
        states.extend(self.stored.keys().filter(|key| !stored.contains_key(*key)).map(|key| (key.clone(), None)));
        match store.commit(&Change { now, under: vec![lease], states, ..Change::default() }) {
            Ok(_) => {
                (self.stored, self.kept) = (stored, Some(house.clock.elapsed()));
                self.forgotten.clear();
                Ok(())
            }
            // It took so long that another process took over: that one keeps it now.
            Err(NotMade::LeaseLost(_)) => {
                self.lease = None;
                Ok(())
            }
            Err(other) => Err(fault(other)),
        }
    }

    /// One more was told: what is stored with the telling.
    pub fn tells(&mut self, is_kept: bool) -> Vec<(String, Option<Vec<u8>>)> {
        self.told += 1;
        match self.lease {
            Some(_) if is_kept => vec![(TOLD.to_owned(), Some(self.told.to_string().into_bytes()))],
            _ => Vec::new(),
        }
    }

    /// It could not be told after all.
    pub fn did_not_tell(&mut self) {
        self.told = self.told.saturating_sub(1);
    }

    /// Gives the lease back, so that the next process need not wait.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn release(&mut self, store: &dyn ServiceStore) -> Result<(), StoreFault> {
        self.lease.take().map_or(Ok(()), |lease| store.release(&lease))
    }
}

fn read_wish(key: &str, bytes: &[u8]) -> Option<(Application, BTreeSet<Digest>)> {
    let application = Application::parse(key.strip_prefix(FORGET)?).ok()?;
    Some((application, serde_json::from_slice(bytes).ok()?))
}

/// Asks whoever keeps detection to forget a service.
///
/// # Errors
/// [`StoreFault`].
pub(crate) fn ask_to_forget(
    store: &dyn ServiceStore,
    clock: &dyn Clock,
    application: &Application,
    mut fingerprints: BTreeSet<Digest>,
) -> Result<(), StoreFault> {
    let key = format!("{FORGET}{application}");
    // What was asked before and not done yet is not lost.
    let before = store.states(&key)?.into_iter().filter(|(known, _)| *known == key);
    fingerprints.extend(before.filter_map(|(key, bytes)| read_wish(&key, &bytes)).flat_map(|(_, known)| known));
    let wish = serde_json::to_vec(&fingerprints).map_err(|error| StoreFault::Unusable(error.to_string()))?;
    let change = Change { now: clock.now(), states: vec![(key, Some(wish))], ..Change::default() };
    store.commit(&change).map(drop).map_err(fault)
}

/// Whether what was asked is done. Where no healer keeps detection it is done here.
///
/// # Errors
/// [`StoreFault`].
pub(crate) fn is_forgotten(
    store: &dyn ServiceStore,
    clock: &dyn Clock,
    application: &Application,
) -> Result<bool, StoreFault> {
    let key = format!("{FORGET}{application}");
    let asked = store.states(&key)?.into_iter().find(|(known, _)| *known == key);
    let Some((_, fingerprints)) = asked.and_then(|(key, bytes)| read_wish(&key, &bytes)) else { return Ok(true) };
    let holder = format!("forget/{:020x}", clock.chance());
    let Some(lease) = store.lease(KEY, &holder, clock.now(), LEASE)? else { return Ok(false) };
    let states = without(store, application, &fingerprints).map(|mut states| {
        states.push((key, None));
        states
    });
    let done = states.and_then(|states| {
        let change = Change { now: clock.now(), under: vec![lease.clone()], states, ..Change::default() };
        store.commit(&change).map(drop).map_err(fault)
    });
    store.release(&lease)?;
    done.map(|()| true)
}

/// What is kept of detection, without a service: what of it has to be stored anew.
fn without(
    store: &dyn ServiceStore,
    application: &Application,
    fingerprints: &BTreeSet<Digest>,
) -> Result<Vec<(String, Option<Vec<u8>>)>, StoreFault> {
    let bank = store.states(BANK)?.into_iter();
    let of = |key: &str| key.strip_prefix(BANK).is_some_and(|key| Saved::is_of(key, application));
    let mut states: Vec<_> = bank.filter(|(key, _)| of(key)).map(|(key, _)| (key, None)).collect();
    if let Some((key, bytes)) = store.states(INTAKE)?.pop() {
        // What cannot be read is not kept in the dark.
        let accounts = serde_json::from_slice::<Accounts>(&bytes).ok().map(|mut accounts| {
            accounts.forget(application);
            accounts
        });
        states.push((key, accounts.and_then(|accounts| serde_json::to_vec(&accounts).ok())));
    }
    if let Some((key, bytes)) = store.states(HEAD)?.pop() {
        let head = serde_json::from_slice::<Head>(&bytes).ok().map(|mut head| {
            let of = |finding: &Finding| finding.application == *application;
            let told = store.states(TOLD).ok().and_then(|mut all| all.pop());
            let told = told.and_then(|(_, bytes)| serde_json::from_slice::<u64>(&bytes).ok()).unwrap_or_default();
            let front = usize::try_from(told.saturating_sub(head.first)).unwrap_or(usize::MAX);
            let gone = head.pending.iter().take(front).filter(|(finding, _)| of(finding)).count();
            if gone > 0 {
                states.push((TOLD.to_owned(), Some((told - gone as u64).to_string().into_bytes())));
            }
            head.pending.retain(|(finding, _)| !of(finding));
            head.owed.retain(|finding| !of(finding));
            head.histories.retain(|(fingerprint, _)| !fingerprints.contains(fingerprint));
            head.weather.forget(application);
            head.starts.forget(application);
            head
        });
        states.push((key, head.and_then(|head| serde_json::to_vec(&head).ok())));
    }
    Ok(states)
}

/// Feeds what was stored after a place, and the time between.
fn feed(store: &dyn ServiceStore, known: &mut Known, after: u64, since: Moment) -> Result<(), StoreFault> {
    let empty = Bank::new(Arc::new(Settings::default()));
    let (set_by, since) = (known.bank.set_by, known.bank.own(since));
    let mut replay = Replay::of(std::mem::replace(&mut known.bank.bank, empty), Some(since));
    let mut after = after;
    loop {
        let observations = store.observations_after(after, TOGETHER)?;
        let Some(last) = observations.last() else { break };
        after = last.sequence;
        for one in observations {
            let (mut passed, mut own) = replay.feed(&taken_off(&one, set_by));
            passed.iter_mut().chain(&mut own).for_each(|finding| put_on(finding, set_by));
            known.pending.extend(passed.into_iter().map(|finding| (finding, Vec::new())));
            known.pending.extend(own.into_iter().map(|finding| (finding, vec![one.clone()])));
        }
    }
    known.bank.bank = replay.bank;
    Ok(())
}
