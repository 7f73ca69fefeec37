//! One record, of whatever format.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::v1::canonical;
use super::{v1, v2};
use crate::hash::Digest;
use crate::id::Id;
use crate::redact::Redacted;

/// The chain of everything that belongs to no application: no application can have this name.
pub const SYSTEM: &str = "@system";

/// Who writes where nobody in particular does.
const ITSELF: &str = "sanare";

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

impl Entry {
    /// The application that it names itself: that of the incident which it opens, or the one that it is about. What names
    /// none belongs to the application of its incident's records, and without any to the system.
    pub fn application(&self) -> Option<&str> {
        let payload = self.payload.as_ref();
        payload["incident"]["application"].as_str().or(payload["application"].as_str())
    }

    /// Who did what it tells: a person, or this program.
    pub fn by(&self) -> &str {
        let by = &self.payload.as_ref()["by"];
        by.as_str().or(by["name"].as_str()).unwrap_or(ITSELF)
    }
}

/// One record of a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Format of the record.
    pub format: u32,
    /// Place among all records of the store, from 1.
    pub seq: u64,
    /// Its chain: an application, or [`SYSTEM`].
    #[serde(default = "system")]
    pub chain: String,
    /// Place in its chain, from 1.
    #[serde(default)]
    pub place: u64,
    /// The incident.
    pub incident: Id,
    /// Name of the step.
    pub step: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// Who did it; unknown in the first format.
    #[serde(default)]
    pub by: String,
    /// The redacted payload, as canonical JSON text; nothing where it was erased.
    pub payload: String,
    /// Hash of the payload; the first format has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Digest>,
    /// Hash of the record before in the chain; 64 zeros for the first.
    pub previous: Digest,
    /// Hash of this record.
    pub hash: Digest,
}

fn system() -> String {
    SYSTEM.to_owned()
}

/// The newest record of a chain, as far as the next one needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainHead {
    /// The chain.
    pub chain: String,
    /// Its place: as many records the chain has had.
    pub place: u64,
    /// Its hash: over it and all before it.
    pub hash: Digest,
}

impl ChainHead {
    /// Before the first record of a chain.
    pub fn none(chain: &str) -> Self {
        Self { chain: chain.to_owned(), place: 0, hash: v1::genesis() }
    }
}

/// A place where a chain does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainBreak {
    /// The record's place among all.
    pub seq: u64,
    /// What is wrong with it.
    pub what: String,
}

impl Record {
    /// Chains an entry after the newest record of its chain, at this place among all records.
    pub fn after(head: &ChainHead, seq: u64, entry: &Entry) -> Self {
        let payload = canonical(entry.payload.as_ref());
        let mut record = Self {
            format: 2,
            seq,
            chain: head.chain.clone(),
            place: head.place + 1,
            incident: entry.incident.clone(),
            step: entry.step.clone(),
            at: entry.at,
            by: entry.by().to_owned(),
            body: Some(Digest::of(payload.as_bytes())),
            payload,
            hash: head.hash.clone(),
            previous: head.hash.clone(),
        };
        record.hash = record.expected_hash();
        record
    }

    /// The hash that its fields lead to.
    pub fn expected_hash(&self) -> Digest {
        if self.format == 1 { v1::hash(self) } else { v2::hash(self) }
    }

    /// What the next record of the chain follows.
    pub fn head(&self) -> ChainHead {
        ChainHead { chain: self.chain.clone(), place: self.place, hash: self.hash.clone() }
    }

    /// The payload as JSON; `null` if it is not, or was erased.
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.payload).unwrap_or(Json::Null)
    }
}
