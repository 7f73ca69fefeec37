//! The newest records of all chains, signed and kept elsewhere: what a ledger alone cannot show of itself (S117).

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ChainHead;
use super::v1::canonical;

/// The heads of all chains of a store at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heads {
    /// The format of this.
    pub format: u32,
    /// The store's own name.
    pub store: String,
    /// When they were read, in milliseconds since 1970.
    pub at: u64,
    /// The newest record of each chain, by the chain's name.
    pub heads: Vec<ChainHead>,
    /// The public key of the signature: Ed25519, 64 hex digits.
    pub key: String,
    /// The signature of [`Heads::text`]: 128 hex digits.
    pub sign: String,
}

impl Heads {
    /// Heads that are to be signed.
    pub fn new(store: String, at: u64, heads: Vec<ChainHead>, key: String) -> Self {
        Self { format: 1, store, at, heads, key, sign: String::new() }
    }

    /// What is signed: canonical JSON of everything but the signature.
    pub fn text(&self) -> String {
        let Self { format, store, at, heads, key, sign: _ } = self;
        canonical(&json!({ "format": format, "store": store, "at": at, "heads": heads, "key": key }))
    }
}
