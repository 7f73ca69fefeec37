//! Looking after a store: its ledger's heads, what is taken out of it, and what is forgotten with time (S117, S119).

use serde::Serialize;

use crate::hash::Digest;
use crate::ledger::{ChainHead, Entry, Record, Seal};
use crate::port::StoreFault;
use crate::service::moment::{DAY, Moment};

/// Who looks after a store.
pub trait Keeper: Send + Sync {
    /// The store's own name among all stores, which it has from the beginning.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn store_id(&self) -> Result<String, StoreFault>;

    /// The newest record of each chain, by the chain's name.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn heads(&self) -> Result<Vec<ChainHead>, StoreFault>;

    /// The hash of a place of a chain, while its record is there.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn hash_at(&self, chain: &str, place: u64) -> Result<Option<Digest>, StoreFault>;

    /// What stays of records that were pruned, oldest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn seals(&self) -> Result<Vec<Seal>, StoreFault>;

    /// Takes the oldest records of a chain out, those before a moment and before anything that is still needed: incidents
    /// that are open, and receipts. Place and hash of the last stay, and `entry` tells of it. `None` where there is nothing
    /// to take out.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn prune(&self, chain: &str, before: u64, entry: &Entry) -> Result<Option<Seal>, StoreFault>;

    /// Forgets an application: its records keep their places and hashes and lose their payloads, and whatever else is kept of
    /// it goes. `entry` is the tombstone. How many payloads went.
    ///
    /// # Errors
    /// [`NotErased`]; then nothing went.
    fn erase(&self, application: &str, entry: &Entry) -> Result<Erased, NotErased>;

    /// Forgets what is older than it is to be kept, in one small transaction of about so many rows, and never anything that an
    /// open incident or approval refers to. Readings are folded into minutes before they go. Called again and again: how much
    /// there was to do says when the next call is worth it.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn tidy(&self, keeping: &Keeping, now: Moment, rows: usize) -> Result<Tidied, StoreFault>;
}

/// How long what is kept, in microseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Keeping {
    /// Readings.
    pub observations: u64,
    /// Bytes of the whole store, beyond which the oldest readings go before their time.
    pub size: u64,
    /// Readings folded into minutes.
    pub minutes: u64,
    /// Incidents that are over, with their snapshots, receipts and approvals; versions that went live.
    pub incidents: u64,
}

impl Default for Keeping {
    fn default() -> Self {
        Self { observations: 30 * DAY, size: 20 << 30, minutes: 400 * DAY, incidents: 400 * DAY }
    }
}

/// What one call did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tidied {
    /// Readings that were folded into their minutes.
    pub folded: u64,
    /// Readings that went.
    pub observations: u64,
    /// Minutes that went.
    pub minutes: u64,
    /// Incidents that went.
    pub incidents: u64,
}

impl Tidied {
    /// Whether anything was done, so that there may be more.
    pub fn is_some(&self) -> bool {
        *self != Self::default()
    }
}

/// What went with an application.
#[derive(Clone, Debug, PartialEq)]
pub struct Erased {
    /// The record that tells of it.
    pub record: Record,
    /// Payloads of records.
    pub payloads: u64,
    /// Rows of everything else.
    pub rows: u64,
    /// Records of the first format, whose payloads are within what is hashed: they stay until they are pruned.
    pub left: u64,
}

/// Why nothing of an application was forgotten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotErased {
    /// Something of it goes on.
    #[error("{0} is not over: nothing that is still needed is erased")]
    Needed(String),
    /// Nothing is kept of it.
    #[error("nothing is kept of `{0}`")]
    Unknown(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}
