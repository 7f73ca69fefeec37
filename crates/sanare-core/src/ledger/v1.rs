//! Ledger records, first format.
//!
//! Each record holds the hash of the one before it; its own hash covers every other field. The payload is JSON with sorted
//! keys, so that one value has one text.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::hash::Digest;
use crate::id::Id;
use crate::redact::Redacted;

/// What a step writes.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The incident.
    pub incident: Id,
    /// Name of the step (`opened` … `closed`) or of a note beside it (`evidence`, `gate`, `settled`).
    pub step: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// What is kept.
    pub payload: Redacted<Json>,
}

/// One record of the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Format of the record.
    pub format: u32,
    /// Place in the chain, from 1.
    pub seq: u64,
    /// The incident.
    pub incident: Id,
    /// Name of the step.
    pub step: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The redacted payload, as canonical JSON text.
    pub payload: String,
    /// Hash of the record before; 64 zeros for the first.
    pub previous: Digest,
    /// Hash of this record.
    pub hash: Digest,
}

/// A place where the chain does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainBreak {
    /// The record.
    pub seq: u64,
    /// What is wrong with it.
    pub what: String,
}

/// The hash before the first record.
pub fn genesis() -> Digest {
    Digest::parse(&"0".repeat(64)).unwrap_or_else(|| Digest::of(b""))
}

impl Record {
    /// Chains an entry after the record with this place and hash.
    pub fn after(seq: u64, previous: Digest, entry: &Entry) -> Self {
        let payload = canonical(entry.payload.as_ref());
        let mut record = Self {
            format: 1,
            seq: seq + 1,
            incident: entry.incident.clone(),
            step: entry.step.clone(),
            at: entry.at,
            payload,
            hash: previous.clone(),
            previous,
        };
        record.hash = record.expected_hash();
        record
    }

    /// The hash that its fields lead to.
    pub fn expected_hash(&self) -> Digest {
        Digest::of_parts(&[
            b"sanare-ledger-1",
            &self.format.to_be_bytes(),
            &self.seq.to_be_bytes(),
            self.incident.as_str().as_bytes(),
            self.step.as_bytes(),
            &self.at.to_be_bytes(),
            self.payload.as_bytes(),
            self.previous.as_str().as_bytes(),
        ])
    }

    /// Whether it follows the record with this place and hash, and is whole itself.
    ///
    /// # Errors
    /// [`ChainBreak`] says what is wrong.
    pub fn follows(&self, seq: u64, previous: &Digest) -> Result<(), ChainBreak> {
        let broken = |what: &str| Err(ChainBreak { seq: self.seq, what: what.to_owned() });
        if self.seq != seq + 1 {
            return broken("its place does not follow the record before it");
        }
        if self.previous != *previous {
            return broken("it does not name the hash of the record before it");
        }
        if self.hash != self.expected_hash() {
            return broken("its hash does not fit its content");
        }
        Ok(())
    }

    /// The payload as JSON; `null` if it is not.
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.payload).unwrap_or(Json::Null)
    }
}

/// Looks at a whole chain; the first break, if there is one.
///
/// # Errors
/// [`ChainBreak`] names the record and what is wrong.
pub fn verify<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<u64, ChainBreak> {
    let mut seq = 0;
    let mut previous = genesis();
    for record in records {
        record.follows(seq, &previous)?;
        seq = record.seq;
        previous = record.hash.clone();
    }
    Ok(seq)
}

/// JSON text with sorted keys and no spaces.
pub fn canonical(json: &Json) -> String {
    fn sorted(json: &Json) -> Json {
        match json {
            Json::Object(map) => {
                let mut keys: Vec<&String> = map.keys().collect();
                keys.sort();
                Json::Object(
                    keys.into_iter().map(|key| (key.clone(), map.get(key).map_or(Json::Null, sorted))).collect(),
                )
            }
            Json::Array(items) => Json::Array(items.iter().map(sorted).collect()),
            other => other.clone(),
        }
    }
    sorted(json).to_string()
}
