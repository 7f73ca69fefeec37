//! Ledger records, first format: one chain for the whole store, each payload within what is hashed.
//!
//! None is written any more. A store that has them keeps them as the beginning of the system's chain.

use serde_json::Value as Json;

use super::Record;
use crate::hash::Digest;

/// The hash before the first record.
pub fn genesis() -> Digest {
    Digest::parse(&"0".repeat(64)).unwrap_or_else(|| Digest::of(b""))
}

/// The hash of a record of this format.
pub(super) fn hash(record: &Record) -> Digest {
    Digest::of_parts(&[
        b"sanare-ledger-1",
        &record.format.to_be_bytes(),
        &record.seq.to_be_bytes(),
        record.incident.as_str().as_bytes(),
        record.step.as_bytes(),
        &record.at.to_be_bytes(),
        record.payload.as_bytes(),
        record.previous.as_str().as_bytes(),
    ])
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
