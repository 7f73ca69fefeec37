//! The store in memory: the same answers as SQLite's, kept only as long as the process lives.

mod keep;
mod service;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sanare_core::id::Id;
use sanare_core::ledger::{ChainBreak, ChainHead, Entry, Erasure, Record, SYSTEM, Seal, Walk};
use sanare_core::model::budget::{Cost, DAY, HOUR, Limits, Spent, broken};
use sanare_core::port::store::{Bucket, Lease, Leave, ModelCall, ReceiptChange, Rest};
use sanare_core::port::{Keeper, Store, StoreFault};
use sanare_core::receipt::{Receipt, ReceiptState};

use crate::SHAPE_BYTES;
use crate::standing::Standing;

/// A store that keeps nothing beyond the process.
#[derive(Debug, Default)]
pub struct Memory {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    ledger: Vec<Record>,
    /// Records that were ever written.
    written: u64,
    heads: BTreeMap<String, ChainHead>,
    seals: Vec<Seal>,
    erasures: Vec<Erasure>,
    /// Erasures under way: payloads up to a place go, and acts before a moment.
    erasing: HashMap<String, (u64, u64)>,
    incidents: Vec<(Id, Standing)>,
    receipts: Vec<Receipt>,
    /// By function, newest first.
    shapes: HashMap<String, Vec<String>>,
    /// By function, newest first, with their times.
    calls: HashMap<String, Vec<(Vec<u8>, u64)>>,
    leases: HashMap<String, (String, Lease)>,
    rests: HashMap<String, Rest>,
    /// Times of the units taken, by bucket.
    spent: HashMap<String, Vec<u64>>,
    model_calls: Vec<ModelCall>,
    service: service::Service,
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn settle(&mut self, incident: &Id, state: ReceiptState) {
        if let Some(receipt) = self.receipts.iter_mut().rfind(|receipt| receipt.incident == *incident) {
            receipt.state = state;
        }
    }

    fn holds(&self, lease: &Lease, now: u64) -> bool {
        self.leases.get(&lease.key).is_some_and(|(_, held)| held.fence == lease.fence && held.until > now)
    }

    fn moment(&self, bucket: &Bucket, now: u64) -> u64 {
        self.spent.get(&bucket.name).and_then(|times| times.last()).copied().unwrap_or(0).max(now)
    }

    fn spent(&self, buckets: &[Bucket], now: u64) -> Option<String> {
        let full = |bucket: &&Bucket| {
            let since = self.moment(bucket, now).saturating_sub(bucket.window);
            let times = self.spent.get(&bucket.name).map(Vec::as_slice).unwrap_or_default();
            (times.iter().filter(|at| **at > since).count() as u64).saturating_add(bucket.units) > bucket.limit
        };
        buckets.iter().find(full).map(|bucket| bucket.name.clone())
    }

    fn take(&mut self, bucket: &Bucket, now: u64, units: u64) {
        let at = self.moment(bucket, now);
        self.spent.entry(bucket.name.clone()).or_default().extend((0..units).map(|_| at));
    }

    /// Writes the next record of a chain.
    fn add(&mut self, chain: &str, entry: &Entry) -> Record {
        let none = ChainHead::none(chain);
        let record = Record::after(self.heads.get(chain).unwrap_or(&none), self.written + 1, entry);
        self.written += 1;
        self.heads.insert(chain.to_owned(), record.head());
        self.ledger.push(record.clone());
        record
    }

    fn append(&mut self, entry: &Entry) -> Record {
        let record = self.add(SYSTEM, entry);
        let place = self.incidents.iter().position(|(id, _)| *id == entry.incident);
        let place = place.unwrap_or_else(|| {
            self.incidents.push((entry.incident.clone(), Standing::Open));
            self.incidents.len() - 1
        });
        if let (Some(standing), Some(incident)) = (Standing::after(entry), self.incidents.get_mut(place)) {
            incident.1 = standing;
        }
        record
    }
}

impl Store for Memory {
    fn keeper(&self) -> Option<&dyn Keeper> {
        Some(self)
    }

    fn append(&self, entry: &Entry) -> Result<Record, StoreFault> {
        Ok(self.kept().append(entry))
    }

    fn append_with_receipt(&self, entry: &Entry, receipt: &Receipt) -> Result<Record, StoreFault> {
        let mut kept = self.kept();
        kept.receipts.push(receipt.clone());
        Ok(kept.append(entry))
    }

    fn append_and_settle(&self, entry: &Entry, state: ReceiptState) -> Result<Record, StoreFault> {
        let mut kept = self.kept();
        kept.settle(&entry.incident, state);
        Ok(kept.append(entry))
    }

    fn append_leased(&self, entry: &Entry, receipt: ReceiptChange<'_>, lease: &Lease) -> Result<Record, StoreFault> {
        let mut kept = self.kept();
        if !kept.holds(lease, entry.at) {
            return Err(StoreFault::LeaseLost);
        }
        match receipt {
            ReceiptChange::None => {}
            ReceiptChange::Keep(receipt) => kept.receipts.push(receipt.clone()),
            ReceiptChange::Settle(state) => kept.settle(&entry.incident, state),
        }
        Ok(kept.append(entry))
    }

    fn records(&self, incident: &Id) -> Result<Vec<Record>, StoreFault> {
        Ok(self.kept().ledger.iter().filter(|record| record.incident == *incident).cloned().collect())
    }

    fn incidents(&self, limit: usize) -> Result<Vec<Id>, StoreFault> {
        Ok(self.kept().incidents.iter().rev().take(limit).map(|(id, _)| id.clone()).collect())
    }

    fn service_incidents(&self) -> Result<Vec<Id>, StoreFault> {
        Ok(self.kept().service.incident_ids())
    }

    fn unfinished(&self) -> Result<Vec<Id>, StoreFault> {
        let kept = self.kept();
        let open = kept.incidents.iter().filter(|(_, standing)| *standing == Standing::Open);
        Ok(open.map(|(id, _)| id.clone()).collect())
    }

    fn ledger_after(&self, seq: u64, limit: usize) -> Result<Vec<Record>, StoreFault> {
        Ok(self.kept().ledger.iter().filter(|record| record.seq > seq).take(limit).cloned().collect())
    }

    fn chain(&self, entry: &Entry) -> Result<Record, StoreFault> {
        Ok(self.kept().chain(entry))
    }

    fn verify(&self) -> Result<Result<u64, ChainBreak>, StoreFault> {
        let kept = self.kept();
        let mut walk = Walk::new(&kept.seals, &kept.erasures);
        Ok(kept.ledger.iter().try_for_each(|record| walk.step(record)).and_then(|()| walk.end()))
    }

    fn receipt(&self, incident: &Id) -> Result<Option<Receipt>, StoreFault> {
        Ok(self.kept().receipts.iter().rfind(|receipt| receipt.incident == *incident).cloned())
    }

    fn receipts(&self, state: ReceiptState) -> Result<Vec<Receipt>, StoreFault> {
        Ok(self.kept().receipts.iter().filter(|receipt| receipt.state == state).cloned().collect())
    }

    fn receipts_of_function(&self, path: &str, function: &str) -> Result<Vec<Receipt>, StoreFault> {
        let kept = self.kept();
        let done = kept.receipts.iter().filter(|receipt| receipt.state == ReceiptState::Done);
        Ok(done.filter(|receipt| receipt.path == path && receipt.function == function).cloned().collect())
    }

    fn receipts_of_code(&self, code: &str) -> Result<Vec<Receipt>, StoreFault> {
        let in_force = |receipt: &&Receipt| matches!(receipt.state, ReceiptState::Open | ReceiptState::Done);
        let kept = self.kept();
        Ok(kept.receipts.iter().rev().filter(in_force).filter(|receipt| receipt.code == code).cloned().collect())
    }

    fn remember_shape(&self, function: &str, shape: &str, _at: u64, most: usize) -> Result<(), StoreFault> {
        let mut kept = self.kept();
        let shapes = kept.shapes.entry(function.to_owned()).or_default();
        shapes.retain(|known| known != shape);
        shapes.insert(0, shape.to_owned());
        shapes.truncate(most);
        let mut bytes = 0;
        shapes.retain(|shape| {
            bytes += shape.len();
            bytes <= SHAPE_BYTES
        });
        Ok(())
    }

    fn shapes(&self, function: &str) -> Result<Vec<String>, StoreFault> {
        Ok(self.kept().shapes.get(function).cloned().unwrap_or_default())
    }

    fn forget(&self, function: Option<&str>) -> Result<u64, StoreFault> {
        let mut kept = self.kept();
        let gone: usize = match function {
            Some(function) => {
                let shapes = kept.shapes.remove(function).map_or(0, |shapes| shapes.len());
                shapes + kept.calls.remove(function).map_or(0, |calls| calls.len())
            }
            None => {
                let shapes: usize = std::mem::take(&mut kept.shapes).values().map(Vec::len).sum();
                shapes + std::mem::take(&mut kept.calls).values().map(Vec::len).sum::<usize>()
            }
        };
        Ok(gone as u64)
    }

    fn remember_call(&self, function: &str, call: &[u8], at: u64, most: usize, since: u64) -> Result<(), StoreFault> {
        let mut kept = self.kept();
        let calls = kept.calls.entry(function.to_owned()).or_default();
        calls.retain(|(known, at)| known != call && *at >= since);
        calls.insert(0, (call.to_vec(), at));
        calls.truncate(most);
        Ok(())
    }

    fn calls(&self, function: &str, since: u64) -> Result<Vec<Vec<u8>>, StoreFault> {
        let kept = self.kept();
        let calls = kept.calls.get(function).map(Vec::as_slice).unwrap_or_default();
        Ok(calls.iter().filter(|(_, at)| *at >= since).map(|(call, _)| call.clone()).collect())
    }

    fn take_lease(&self, key: &str, holder: &str, now: u64, millis: u64) -> Result<Option<Lease>, StoreFault> {
        let mut kept = self.kept();
        let until = now.saturating_add(millis);
        let runs = |lease: &Lease| lease.until > now && lease.until - now <= 2 * millis;
        let fence = match kept.leases.get(key) {
            Some((other, lease)) if runs(lease) && other != holder => return Ok(None),
            Some((other, lease)) if runs(lease) && other == holder => lease.fence,
            Some((_, lease)) => lease.fence + 1,
            None => 1,
        };
        let lease = Lease { key: key.to_owned(), fence, until };
        kept.leases.insert(key.to_owned(), (holder.to_owned(), lease.clone()));
        Ok(Some(lease))
    }

    fn lease_of(&self, key: &str) -> Result<Option<(String, Lease)>, StoreFault> {
        Ok(self.kept().leases.get(key).filter(|(_, lease)| lease.until != 0).cloned())
    }

    fn renew_lease(&self, lease: &Lease, now: u64, millis: u64) -> Result<bool, StoreFault> {
        let mut kept = self.kept();
        let holds = kept.holds(lease, now);
        if let Some((_, held)) = kept.leases.get_mut(&lease.key).filter(|_| holds) {
            held.until = now.saturating_add(millis);
        }
        Ok(holds)
    }

    fn holds(&self, lease: &Lease, now: u64) -> Result<bool, StoreFault> {
        Ok(self.kept().holds(lease, now))
    }

    fn give_back(&self, lease: &Lease) -> Result<(), StoreFault> {
        let mut kept = self.kept();
        if let Some((holder, held)) = kept.leases.get_mut(&lease.key).filter(|(_, held)| held.fence == lease.fence) {
            holder.clear();
            held.until = 0;
        }
        Ok(())
    }

    fn rest(&self, fingerprint: &str) -> Result<Rest, StoreFault> {
        Ok(self.kept().rests.get(fingerprint).cloned().unwrap_or_default())
    }

    fn set_rest(&self, fingerprint: &str, rest: &Rest) -> Result<(), StoreFault> {
        self.kept().rests.insert(fingerprint.to_owned(), rest.clone());
        Ok(())
    }

    fn count_occurrence(&self, fingerprint: &str) -> Result<(), StoreFault> {
        if let Some(rest) = self.kept().rests.get_mut(fingerprint) {
            rest.occurrences += 1;
        }
        Ok(())
    }

    fn spent(&self, buckets: &[Bucket], now: u64) -> Result<Option<String>, StoreFault> {
        Ok(self.kept().spent(buckets, now))
    }

    fn spend(&self, buckets: &[Bucket], now: u64) -> Result<Option<String>, StoreFault> {
        let mut kept = self.kept();
        let spent = kept.spent(buckets, now);
        if spent.is_none() {
            for bucket in buckets {
                kept.take(bucket, now, bucket.units);
            }
        }
        Ok(spent)
    }

    fn settle_units(&self, bucket: &Bucket, taken: u64, used: u64) -> Result<(), StoreFault> {
        let mut kept = self.kept();
        kept.take(bucket, taken, used.saturating_sub(bucket.units));
        let mut back = bucket.units.saturating_sub(used);
        if let Some(times) = kept.spent.get_mut(&bucket.name) {
            times.retain(|at| {
                let goes = back > 0 && *at >= taken;
                back -= u64::from(goes);
                !goes
            });
        }
        Ok(())
    }

    fn begin_model_call(&self, call: &ModelCall, limits: &Limits) -> Result<Leave, StoreFault> {
        let mut kept = self.kept();
        let mut spent = Spent::default();
        for earlier in &kept.model_calls {
            if earlier.incident == call.incident {
                spent.incident_calls += 1;
                spent.incident_tokens += earlier.most.tokens;
            }
            spent.hour_calls += u64::from(earlier.at > call.at.saturating_sub(HOUR));
            if earlier.at > call.at.saturating_sub(DAY) {
                spent.day_tokens += earlier.most.tokens;
                spent.day_money += earlier.most.money;
            }
        }
        if let Some(key) = broken(limits, &spent, &call.most) {
            return Ok(Leave::Spent(key.to_owned()));
        }
        kept.model_calls.push(call.clone());
        Ok(Leave::Granted(kept.model_calls.len() as u64))
    }

    fn settle_model_call(&self, number: u64, cost: Cost) -> Result<(), StoreFault> {
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let mut kept = self.kept();
        if let Some(call) = place.and_then(|place| kept.model_calls.get_mut(place)) {
            call.most = cost;
        }
        Ok(())
    }
}
