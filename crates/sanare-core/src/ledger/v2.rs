//! Ledger records, second format: a chain for each application and one for the system, the payload beside what is hashed.
//!
//! A record's hash covers everything but its payload, and of that the digest: so a payload may be erased and the chain still
//! verifies. It covers the place among all records too, so that no chain can be put in the place of another, and none left
//! out.

use serde::Serialize;

use super::Record;
use crate::hash::Digest;

/// What is hashed: its fields in the order of their names, as canonical JSON has them.
#[derive(Serialize)]
struct Hashed<'a> {
    at: u64,
    body: &'a str,
    by: &'a str,
    chain: &'a str,
    format: u32,
    incident: &'a str,
    kind: &'a str,
    place: u64,
    previous: &'a str,
    seq: u64,
}

/// The hash of a record of this format.
pub(super) fn hash(record: &Record) -> Digest {
    let hashed = Hashed {
        at: record.at,
        body: record.body.as_ref().map(Digest::as_str).unwrap_or_default(),
        by: &record.by,
        chain: &record.chain,
        format: record.format,
        incident: record.incident.as_str(),
        kind: &record.step,
        place: record.place,
        previous: record.previous.as_str(),
        seq: record.seq,
    };
    // A struct of texts and numbers is always JSON; nothing at all would be a hash that fits no record.
    Digest::of(&serde_json::to_vec(&hashed).unwrap_or_default())
}
