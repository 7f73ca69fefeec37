//! Memory: ledger, receipts, shapes, leases.

use crate::id::Id;
use crate::ledger::{ChainBreak, Entry, Record};
use crate::model::budget::{Cost, Limits};
use crate::port::keeper::Keeper;
use crate::receipt::{Receipt, ReceiptState};

/// What the store met.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreFault {
    /// The file is not a store, or is damaged. Nothing in it was changed.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// It was written by a newer version.
    #[error("the store has format {found}, newer than {known}: it needs a newer sanare")]
    Newer {
        /// What stands in the file.
        found: u32,
        /// The newest format that this version knows.
        known: u32,
    },
    /// It is of an older version, and no copy of it could be made before it is changed. Nothing in it was.
    #[error("the store has the older format {from} and stays as it is, since no copy of it could be made first: {why}")]
    NotMigrated {
        /// The format that it has.
        from: u32,
        /// Why there is no copy.
        why: String,
    },
    /// It cannot be opened or written here.
    #[error("the store cannot be used: {0}")]
    Unusable(String),
    /// Another process held it for too long.
    #[error("the store is in use by another process")]
    Busy,
    /// What is sealed cannot be sealed or opened here: without the owner's key it is neither kept nor read.
    #[error("sealed: {0}")]
    Sealed(String),
    /// The disk is full.
    #[error("the disk is full")]
    DiskFull,
    /// The lease that this was to be written under ended or belongs to another holder now.
    #[error("the lease is lost: another process took over")]
    LeaseLost,
}

/// A lease on a key: one holder at a time, told apart by a growing number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// What is leased.
    pub key: String,
    /// Grows with every taking; a write with an older number is refused.
    pub fence: u64,
    /// Milliseconds since 1970.
    pub until: u64,
}

/// How a failure's fingerprint rests (C118).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// Until when, in milliseconds since 1970; 0 for not at all.
    pub until: u64,
    /// How many times in a row it ended without healing.
    pub times: u32,
    /// How often it was seen.
    pub occurrences: u64,
}

/// What an entry does to its incident's receipt, in the same transaction.
#[derive(Clone, Copy, Debug)]
pub enum ReceiptChange<'a> {
    /// Nothing.
    None,
    /// Keeps this one, durable against a power cut.
    Keep(&'a Receipt),
    /// Sets the state of the newest one.
    Settle(ReceiptState),
}

/// A budget: so many units within a sliding window (C118).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// What is counted, such as `heals` or `function:job.py:load`.
    pub name: String,
    /// Length of the window in milliseconds.
    pub window: u64,
    /// Units within it.
    pub limit: u64,
    /// Units that are taken at once.
    pub units: u64,
}

/// A call to a model that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    /// The incident that it is for; empty for a test of the connection.
    pub incident: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The most that it can cost.
    pub most: Cost,
}

/// What came of asking for leave to make a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leave {
    /// It may be made; the number settles it afterwards.
    Granted(u64),
    /// A budget would be broken: its key.
    Spent(String),
}

/// One store, behind SQLite or in memory. Every call is one transaction.
pub trait Store: Send + Sync {
    /// Who looks after it, where it is the store itself and no stand-in.
    fn keeper(&self) -> Option<&dyn Keeper> {
        None
    }

    /// Waits until the store can be written, but only as long as whoever writes in it gets on: once nothing has changed
    /// for so many milliseconds it is locked rather than busy. Nobody's program is held up for a lock like that.
    ///
    /// # Errors
    /// [`StoreFault::Busy`], else as ever.
    fn turn(&self, still_ms: u64) -> Result<(), StoreFault> {
        let _ = still_ms;
        Ok(())
    }

    /// Chains an entry to the ledger; durable when it returns.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn append(&self, entry: &Entry) -> Result<Record, StoreFault>;

    /// Chains an entry and keeps a receipt in one transaction, durable against a power cut.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn append_with_receipt(&self, entry: &Entry, receipt: &Receipt) -> Result<Record, StoreFault>;

    /// Chains an entry and sets the state of an incident's receipt in one transaction.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn append_and_settle(&self, entry: &Entry, state: ReceiptState) -> Result<Record, StoreFault>;

    /// Chains an entry and changes the receipt, if `lease` is still the newest of its key and has not run out at the
    /// entry's time; all in one transaction.
    ///
    /// # Errors
    /// [`StoreFault::LeaseLost`], else as ever. Nothing is then written.
    fn append_leased(&self, entry: &Entry, receipt: ReceiptChange<'_>, lease: &Lease) -> Result<Record, StoreFault>;

    /// All records of one incident, in order.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn records(&self, incident: &Id) -> Result<Vec<Record>, StoreFault>;

    /// Ids of incidents, newest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn incidents(&self, limit: usize) -> Result<Vec<Id>, StoreFault>;

    /// Ids of the service half's incidents in the same store, newest first: their records are in the one ledger, and no
    /// verb of code healing is for them.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn service_incidents(&self) -> Result<Vec<Id>, StoreFault> {
        Ok(Vec::new())
    }

    /// Ids of incidents whose last step is neither `closed` nor `waiting` nor a standing `applied`, oldest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn unfinished(&self) -> Result<Vec<Id>, StoreFault>;

    /// Records of the whole ledger, of both halves, after a place and in order.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn ledger_after(&self, seq: u64, limit: usize) -> Result<Vec<Record>, StoreFault>;

    /// Adds a record that belongs to no incident.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn chain(&self, entry: &Entry) -> Result<Record, StoreFault>;

    /// Looks at the whole chain; the number of records, or its first break.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn verify(&self) -> Result<Result<u64, ChainBreak>, StoreFault>;

    /// The receipt of an incident.
    ///
    /// # Errors
    /// [`StoreFault::Sealed`] for one that this user has no key for. Else as ever.
    fn receipt(&self, incident: &Id) -> Result<Option<Receipt>, StoreFault>;

    /// Receipts in this state, oldest first; those that this user has no key for are left out.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn receipts(&self, state: ReceiptState) -> Result<Vec<Receipt>, StoreFault>;

    /// Receipts of repairs of a function of a file that are in force, oldest first; those that this user has no key for
    /// are left out.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn receipts_of_function(&self, path: &str, function: &str) -> Result<Vec<Receipt>, StoreFault>;

    /// Receipts of repairs of this very code, newest first, those taken back, only planned, or sealed with another key
    /// left out.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn receipts_of_code(&self, code: &str) -> Result<Vec<Receipt>, StoreFault>;

    /// Keeps the shape of a good call of a function (JSON text); of a function's distinct ones at most the `most` newest.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn remember_shape(&self, function: &str, shape: &str, at: u64, most: usize) -> Result<(), StoreFault>;

    /// Shapes of a function, newest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn shapes(&self, function: &str) -> Result<Vec<String>, StoreFault>;

    /// Keeps a good call with its values, sealed; of a function's calls at most the `most` newest, none older than
    /// `since`.
    ///
    /// # Errors
    /// [`StoreFault::Sealed`] without a key: then nothing is kept. Else as ever.
    fn remember_call(&self, function: &str, call: &[u8], at: u64, most: usize, since: u64) -> Result<(), StoreFault>;

    /// Good calls of a function since then, newest first. What was sealed with another key is left out.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn calls(&self, function: &str, since: u64) -> Result<Vec<Vec<u8>>, StoreFault>;

    /// Forgets the shapes and calls of one function, or of all. Gives how many there were.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn forget(&self, function: Option<&str>) -> Result<u64, StoreFault>;

    /// Takes a lease if it is free, expired, or already `holder`'s; `None` while another holds it. One that would run
    /// twice as long from now was taken under a clock that was set back since: it counts as expired. (Not just longer:
    /// the holder may have looked at the clock after this caller did.)
    ///
    /// # Errors
    /// [`StoreFault`].
    fn take_lease(&self, key: &str, holder: &str, now: u64, millis: u64) -> Result<Option<Lease>, StoreFault>;

    /// The lease of a key with its holder, run out or not; `None` when it is free.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn lease_of(&self, key: &str) -> Result<Option<(String, Lease)>, StoreFault>;

    /// Moves the end of a lease that is still this one and has not run out; says whether it was.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn renew_lease(&self, lease: &Lease, now: u64, millis: u64) -> Result<bool, StoreFault>;

    /// Whether a lease is still the newest of its key and has not run out.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn holds(&self, lease: &Lease, now: u64) -> Result<bool, StoreFault>;

    /// Gives a lease back if it is still this one.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn give_back(&self, lease: &Lease) -> Result<(), StoreFault>;

    /// How a fingerprint rests.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn rest(&self, fingerprint: &str) -> Result<Rest, StoreFault>;

    /// Sets how a fingerprint rests.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn set_rest(&self, fingerprint: &str, rest: &Rest) -> Result<(), StoreFault>;

    /// Counts an occurrence of a failure that rests.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn count_occurrence(&self, fingerprint: &str) -> Result<(), StoreFault>;

    /// The name of the first of these budgets that is spent; `None` when each has a unit left. A clock that was set
    /// back gives no unit back: what was taken counts until the clock has passed it by the window.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn spent(&self, buckets: &[Bucket], now: u64) -> Result<Option<String>, StoreFault>;

    /// Takes a unit out of each of these budgets, or of none: then the name of the first that is spent. Durable.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn spend(&self, buckets: &[Bucket], now: u64) -> Result<Option<String>, StoreFault>;

    /// Says how many of the units were used that were taken out of this budget at `taken`: the rest goes back, and what is
    /// over them is taken, whatever the limit says.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn settle_units(&self, bucket: &Bucket, taken: u64, used: u64) -> Result<(), StoreFault>;

    /// Enters a call to a model if no budget would be broken by the most that it can cost. Looking and entering are one
    /// transaction, durable against a power cut: many processes and a restart share one count (C76).
    ///
    /// # Errors
    /// [`StoreFault`].
    fn begin_model_call(&self, call: &ModelCall, limits: &Limits) -> Result<Leave, StoreFault>;

    /// Replaces the most that a call could cost by what it did cost.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn settle_model_call(&self, number: u64, cost: Cost) -> Result<(), StoreFault>;
}
