//! Looking after a store: its ledger's heads, what is taken out of it, and what is forgotten with time (S117, S119).

use serde::Serialize;
use serde_json::Value as Json;

use crate::hash::Digest;
use crate::ledger::{ChainHead, Entry, Record, Seal};
use crate::port::StoreFault;
use crate::service::ServiceStore;
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

    /// Begins to forget an application: `entry` is the tombstone of what goes, up to what there is now. Nothing has gone yet.
    /// How many records of the first format it has: their payloads are within what is hashed, and stay until they are pruned.
    ///
    /// # Errors
    /// [`NotErased`]; then it is not begun.
    fn begin_erasing(&self, application: &str, entry: &Entry) -> Result<u64, NotErased>;

    /// Forgets about so many rows of it, in one small transaction: records keep their places and hashes and lose their
    /// payloads, and whatever else is kept of it goes. Nothing where it is all gone. Whoever dies in between has left a
    /// beginning that [`Keeper::begin_erasing`] takes up.
    ///
    /// # Errors
    /// [`NotErased`]; what went before is gone.
    fn erase_some(&self, application: &str, rows: usize) -> Result<Erased, NotErased>;

    /// Writes down that it is all gone; `entry` says so.
    ///
    /// # Errors
    /// [`NotErased::Unfinished`] where it is not.
    fn end_erasing(&self, application: &str, entry: &Entry) -> Result<Record, NotErased>;

    /// What is kept of services, a sort at a time: after a place of that sort (nothing: from the first), of one application or
    /// of all, at most so many, in order.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn items(&self, sort: Sort, of: Option<&str>, after: &str, most: usize) -> Result<Vec<Item>, StoreFault>;

    /// Looks through all pages and indices of the store, for so many milliseconds at most: whether it came to the end.
    ///
    /// # Errors
    /// [`StoreFault::Corrupt`] where one is damaged.
    fn is_whole(&self, within: u64) -> Result<bool, StoreFault>;

    /// The same store, by what the service half does with it.
    fn services(&self) -> &dyn ServiceStore;

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

/// What is kept of services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Readings.
    Observation,
    /// Readings that were folded into minutes.
    Minute,
    /// Incidents.
    Incident,
    /// Frozen pictures that something was decided by.
    Snapshot,
    /// Receipts of acts.
    Receipt,
    /// What persons were asked, and their answers.
    Approval,
}

impl Sort {
    /// All of them, in the order of an export.
    pub const ALL: [Self; 6] =
        [Self::Observation, Self::Minute, Self::Incident, Self::Snapshot, Self::Receipt, Self::Approval];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Observation => "observation",
            Self::Minute => "minute",
            Self::Incident => "incident",
            Self::Snapshot => "snapshot",
            Self::Receipt => "receipt",
            Self::Approval => "approval",
        }
    }
}

/// One thing that is kept, as it is stored: what may not be known was taken out of it before.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its place among those of its sort.
    pub place: String,
    /// Whose it is.
    pub application: String,
    /// Itself.
    pub value: Json,
}

/// What went with one transaction of an erasure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// Payloads of records.
    pub payloads: u64,
    /// Rows of everything else.
    pub rows: u64,
}

/// Why an application is not forgotten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotErased {
    /// Something of it goes on.
    #[error("{0} is not over: nothing that is still needed is erased")]
    Needed(String),
    /// Nothing is kept of it.
    #[error("nothing is kept of `{0}`")]
    Unknown(String),
    /// It was not begun, or not all of it is gone.
    #[error("`{0}` is not all gone: erase it again")]
    Unfinished(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}
