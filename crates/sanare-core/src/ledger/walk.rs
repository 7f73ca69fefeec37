//! A whole ledger looked at, record by record in the order in which they were written, so that it is never in memory.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{ChainBreak, ChainHead, Record, SYSTEM};
use crate::hash::Digest;

/// Name of the record that tells of an erasure.
pub const ERASED: &str = "erased";
/// Name of the record that an erasure begins with: the tombstone of what goes, if it is ended or not.
pub const ERASING: &str = "erasing";
/// Name of the record that tells of a pruning.
pub const PRUNED: &str = "pruned";

/// The oldest records of a chain that were taken out: what stays of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// Chain, place and hash of the last one that was taken out.
    pub head: ChainHead,
    /// The record that tells of it, by its place in the system's chain.
    pub record: u64,
}

/// Payloads of a chain that were erased, up to a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erasure {
    /// The chain.
    pub chain: String,
    /// The last place of which the payload was erased.
    pub upto: u64,
    /// The record that tells of it, by its place in the system's chain: the tombstone.
    pub record: u64,
}

/// A ledger that is being looked at.
#[derive(Debug)]
pub struct Walk {
    seq: u64,
    count: u64,
    /// Places that no record has, and records that were pruned: as many of the one as of the other.
    gone: u64,
    sealed: u64,
    heads: BTreeMap<String, ChainHead>,
    erasures: BTreeMap<String, u64>,
    /// Records of the system's chain that have to be there, and how they are named.
    owed: BTreeSet<(u64, &'static str)>,
}

impl Walk {
    /// Before the first record.
    pub fn new(seals: &[Seal], erasures: &[Erasure]) -> Self {
        let mut walk = Self {
            seq: 0,
            count: 0,
            gone: 0,
            sealed: 0,
            heads: BTreeMap::new(),
            erasures: BTreeMap::new(),
            owed: BTreeSet::new(),
        };
        for seal in seals {
            walk.owed.insert((seal.record, PRUNED));
            let known = walk.heads.get(&seal.head.chain);
            if known.is_none_or(|known| known.place < seal.head.place) {
                walk.sealed += seal.head.place - known.map_or(0, |known| known.place);
                walk.heads.insert(seal.head.chain.clone(), seal.head.clone());
            }
        }
        for erasure in erasures {
            walk.owed.insert((erasure.record, ERASED));
            let upto = walk.erasures.entry(erasure.chain.clone()).or_default();
            *upto = erasure.upto.max(*upto);
        }
        // What was pruned in turn is vouched for by the seal over it.
        let sealed = walk.heads.get(SYSTEM).map_or(0, |head| head.place);
        walk.owed.retain(|(place, _)| *place > sealed);
        walk
    }

    /// Looks at the next record.
    ///
    /// # Errors
    /// [`ChainBreak`] says what is wrong with it.
    pub fn step(&mut self, record: &Record) -> Result<(), ChainBreak> {
        let broken = |what: String| Err(ChainBreak { seq: record.seq, what });
        let gap = record.seq.saturating_sub(self.seq + 1);
        self.gone += gap;
        if record.seq <= self.seq || self.gone > self.sealed {
            return broken("its place does not follow the record before it".to_owned());
        }
        let of = |chain: &str| if chain == SYSTEM { String::new() } else { format!(" of `{chain}`") };
        let none = ChainHead::none(&record.chain);
        let head = self.heads.get(&record.chain).unwrap_or(&none);
        if record.previous != head.hash {
            return broken(format!("it does not name the hash of the record before it{}", of(&record.chain)));
        }
        if record.place != head.place + 1 || (record.format == 1 && record.place != record.seq) {
            return broken(format!("its place in the chain{} is another", of(&record.chain)));
        }
        if record.hash != record.expected_hash() {
            return broken("its hash does not fit its content".to_owned());
        }
        let erased = record.payload.is_empty() && record.format > 1;
        if erased && self.erasures.get(&record.chain).is_none_or(|upto| record.place > *upto) {
            return broken("its content is gone, and no record says that it was erased".to_owned());
        }
        if !erased && record.body.as_ref().is_some_and(|body| Digest::of(record.payload.as_bytes()) != *body) {
            return broken("its content is another than the one that was written".to_owned());
        }
        for (step, word) in [(ERASED, ERASED), (ERASING, ERASED), (PRUNED, PRUNED)] {
            if record.step == step && record.chain == SYSTEM {
                self.owed.remove(&(record.place, word));
            }
        }
        (self.seq, self.count) = (record.seq, self.count + 1);
        self.heads.insert(record.chain.clone(), record.head());
        Ok(())
    }

    /// After the last record: how many there are.
    ///
    /// # Errors
    /// [`ChainBreak`] where something is missing that was to come.
    pub fn end(&self) -> Result<u64, ChainBreak> {
        if let Some((place, word)) = self.owed.first() {
            let what = format!("record {place} of the system's chain, which tells what was {word}, is not there");
            return Err(ChainBreak { seq: self.seq, what });
        }
        if self.gone != self.sealed {
            let what = format!("{} records are told as pruned, and {} are gone", self.sealed, self.gone);
            return Err(ChainBreak { seq: self.seq, what });
        }
        Ok(self.count)
    }
}

/// Looks at a whole ledger of which nothing was erased or pruned; the first break, if there is one.
///
/// # Errors
/// [`ChainBreak`] names the record and what is wrong.
pub fn verify<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<u64, ChainBreak> {
    let mut walk = Walk::new(&[], &[]);
    records.into_iter().try_for_each(|record| walk.step(record))?;
    walk.end()
}
