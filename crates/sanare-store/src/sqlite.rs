//! The store on disk: one SQLite file in a private folder, write-ahead log, one connection a process.
//!
//! Two strengths of writing: what only has to survive the death of the process is handed to the system; receipts, and
//! whatever else must survive a power cut, are synced to the disk before the call returns.

mod backup;
mod budgets;
mod calls;
mod connection;
mod fault;
mod folder;
mod head;
mod header;
mod keep;
mod leases;
mod ledger;
mod model_calls;
mod network;
mod receipts;
mod service;
mod shapes;
mod turn;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use sanare_core::id::Id;
use sanare_core::ledger::{ChainBreak, Entry, Record};
use sanare_core::model::budget::{Cost, Limits};
use sanare_core::port::store::{Bucket, Lease, Leave, ModelCall, ReceiptChange, Rest};
use sanare_core::port::{Keeper, Seal, Store, StoreFault};
use sanare_core::receipt::{Receipt, ReceiptState};

use self::connection::{Held, Slots};
use self::fault::fault;

/// How long another process may hold the store before that is [`StoreFault::Busy`].
const PATIENCE: Duration = Duration::from_secs(2);

/// One SQLite file. Usable from several threads, from several processes at once, and on both sides of a fork.
pub struct Sqlite {
    path: PathBuf,
    patience: Duration,
    slots: Slots,
    seal: Arc<dyn Seal>,
}

impl Sqlite {
    /// Opens the store at `path`, or makes it with its folder.
    ///
    /// # Errors
    /// [`StoreFault::Unusable`] where nothing can be written, [`StoreFault::Corrupt`] for a file that is damaged or no
    /// store, [`StoreFault::Newer`] for one of a later version. Nothing in an existing file is then changed.
    pub fn open(path: &Path) -> Result<Self, StoreFault> {
        Self::open_with(path, PATIENCE)
    }

    /// The same with another bound on waiting for other processes.
    ///
    /// # Errors
    /// As [`Sqlite::open`].
    pub fn open_with(path: &Path, patience: Duration) -> Result<Self, StoreFault> {
        network::refuse(path)?;
        folder::make(path)?;
        Self::connected(path, patience)
    }

    /// Opens the store at `path` if there is one; `None` if there is not.
    ///
    /// # Errors
    /// As [`Sqlite::open`].
    pub fn open_existing(path: &Path) -> Result<Option<Self>, StoreFault> {
        if !path.try_exists().map_err(|error| StoreFault::Unusable(format!("{}: {error}", path.display())))? {
            return Ok(None);
        }
        network::refuse(path)?;
        Self::connected(path, PATIENCE).map(Some)
    }

    /// Opens the first of these places that can be used: the project's own, then the user's state folder. A damaged or
    /// newer store is not passed over.
    ///
    /// # Errors
    /// As [`Sqlite::open`]; with several unusable places, the fault of the first.
    pub fn open_first(places: &[PathBuf]) -> Result<Self, StoreFault> {
        let mut first = None;
        for place in places {
            match Self::open(place) {
                Err(fault @ StoreFault::Unusable(_)) => first = first.or(Some(fault)),
                other => return other,
            }
        }
        Err(first.unwrap_or_else(|| StoreFault::Unusable("no place was given".to_owned())))
    }

    /// With the key for what may lie here in no other form. Without one nothing of that kind is kept.
    #[must_use]
    pub fn sealed_by(self, seal: Arc<dyn Seal>) -> Self {
        Self { seal, ..self }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connected(path: &Path, patience: Duration) -> Result<Self, StoreFault> {
        let store = Self { path: path.to_path_buf(), patience, slots: Slots::default(), seal: Arc::new(NoKey) };
        drop(store.connection()?);
        Ok(store)
    }

    fn connection(&self) -> Result<Held<'_>, StoreFault> {
        self.slots.of_this_process(&self.path, self.patience)
    }

    fn read<T>(&self, look: impl FnOnce(&Connection) -> Result<T, Trouble>) -> Result<T, StoreFault> {
        look(self.connection()?.get()?).map_err(Trouble::into_fault)
    }

    /// Runs a transaction; `durable` ones are on the disk when this returns.
    fn write<T>(
        &self,
        durable: bool,
        act: impl FnOnce(&Transaction<'_>) -> Result<T, Trouble>,
    ) -> Result<T, StoreFault> {
        let mut held = self.connection()?;
        let connection = held.get_durable(durable)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
        let done = act(&transaction).map_err(Trouble::into_fault)?;
        let last = if durable { ledger::last(&transaction).map_err(Trouble::into_fault)? } else { None };
        transaction.commit().map_err(fault)?;
        if let Some((seq, hash)) = last {
            head::note(&self.path, seq, &hash);
        }
        Ok(done)
    }
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A store that was given no key.
struct NoKey;

impl NoKey {
    fn none<T>() -> Result<T, StoreFault> {
        Err(StoreFault::Sealed("the store was given no key".to_owned()))
    }
}

impl Seal for NoKey {
    fn seal(&self, _about: &str, _plain: &[u8]) -> Result<Vec<u8>, StoreFault> {
        Self::none()
    }

    fn open(&self, _about: &str, _sealed: &[u8]) -> Result<Vec<u8>, StoreFault> {
        Self::none()
    }

    fn mark(&self, _about: &str, _plain: &[u8]) -> Result<String, StoreFault> {
        Self::none()
    }
}

/// What stops an act inside the room: SQLite itself, or a fault that was recognised.
enum Trouble {
    Sqlite(rusqlite::Error),
    Fault(StoreFault),
}

impl Trouble {
    fn into_fault(self) -> StoreFault {
        match self {
            Self::Sqlite(error) => fault(error),
            Self::Fault(fault) => fault,
        }
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreFault> for Trouble {
    fn from(fault: StoreFault) -> Self {
        Self::Fault(fault)
    }
}

/// A number as SQLite keeps it.
fn stored(number: u64) -> Result<i64, Trouble> {
    i64::try_from(number).map_err(|_| StoreFault::Unusable(format!("the number {number} cannot be kept")).into())
}

/// A number that was kept; negative ones are never written.
fn number(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

impl Store for Sqlite {
    fn keeper(&self) -> Option<&dyn Keeper> {
        Some(self)
    }

    fn turn(&self, still_ms: u64) -> Result<(), StoreFault> {
        let mut held = self.connection()?;
        turn::wait(held.get()?, &self.path, Duration::from_millis(still_ms), self.patience)
    }

    fn append(&self, entry: &Entry) -> Result<Record, StoreFault> {
        self.write(false, |transaction| ledger::append(transaction, entry))
    }

    fn append_with_receipt(&self, entry: &Entry, receipt: &Receipt) -> Result<Record, StoreFault> {
        let kept = receipts::Texts::of(&*self.seal, receipt).map_err(Trouble::into_fault)?;
        self.write(true, |transaction| {
            let record = ledger::append(transaction, entry)?;
            receipts::keep(transaction, record.seq, receipt, &kept)?;
            Ok(record)
        })
    }

    fn append_and_settle(&self, entry: &Entry, state: ReceiptState) -> Result<Record, StoreFault> {
        self.write(true, |transaction| {
            receipts::settle(transaction, &entry.incident, state)?;
            ledger::append(transaction, entry)
        })
    }

    fn append_leased(&self, entry: &Entry, receipt: ReceiptChange<'_>, lease: &Lease) -> Result<Record, StoreFault> {
        let durable = !matches!(receipt, ReceiptChange::None);
        let kept = match receipt {
            ReceiptChange::Keep(receipt) => {
                Some((receipt, receipts::Texts::of(&*self.seal, receipt).map_err(Trouble::into_fault)?))
            }
            _ => None,
        };
        self.write(durable, |transaction| {
            if !leases::holds(transaction, lease, entry.at)? {
                return Err(StoreFault::LeaseLost.into());
            }
            if let ReceiptChange::Settle(state) = receipt {
                receipts::settle(transaction, &entry.incident, state)?;
            }
            let record = ledger::append(transaction, entry)?;
            if let Some((receipt, texts)) = &kept {
                receipts::keep(transaction, record.seq, receipt, texts)?;
            }
            Ok(record)
        })
    }

    fn records(&self, incident: &Id) -> Result<Vec<Record>, StoreFault> {
        self.read(|connection| ledger::of_incident(connection, incident))
    }

    fn incidents(&self, limit: usize) -> Result<Vec<Id>, StoreFault> {
        self.read(|connection| ledger::incidents(connection, limit))
    }

    fn service_incidents(&self) -> Result<Vec<Id>, StoreFault> {
        self.read(ledger::service_incidents)
    }

    fn unfinished(&self) -> Result<Vec<Id>, StoreFault> {
        self.read(ledger::unfinished)
    }

    fn ledger_after(&self, seq: u64, limit: usize) -> Result<Vec<Record>, StoreFault> {
        self.read(|connection| ledger::after(connection, seq, limit))
    }

    fn chain(&self, entry: &Entry) -> Result<Record, StoreFault> {
        self.write(true, |transaction| ledger::chain_entry(transaction, entry))
    }

    fn verify(&self) -> Result<Result<u64, ChainBreak>, StoreFault> {
        self.read(|connection| ledger::verify(connection, head::read(&self.path)))
    }

    fn receipt(&self, incident: &Id) -> Result<Option<Receipt>, StoreFault> {
        self.read(|connection| receipts::of_incident(connection, &*self.seal, incident))
    }

    fn receipts(&self, state: ReceiptState) -> Result<Vec<Receipt>, StoreFault> {
        self.read(|connection| receipts::in_state(connection, &*self.seal, state))
    }

    fn receipts_of_function(&self, path: &str, function: &str) -> Result<Vec<Receipt>, StoreFault> {
        self.read(|connection| receipts::of_function(connection, &*self.seal, path, function))
    }

    fn receipts_of_code(&self, code: &str) -> Result<Vec<Receipt>, StoreFault> {
        self.read(|connection| receipts::of_code(connection, &*self.seal, code))
    }

    fn remember_shape(&self, function: &str, shape: &str, at: u64, most: usize) -> Result<(), StoreFault> {
        self.write(false, |transaction| shapes::remember(transaction, function, shape, at, most))
    }

    fn shapes(&self, function: &str) -> Result<Vec<String>, StoreFault> {
        self.read(|connection| shapes::of_function(connection, function))
    }

    fn forget(&self, function: Option<&str>) -> Result<u64, StoreFault> {
        self.write(false, |transaction| {
            Ok(shapes::forget(transaction, function)? + calls::forget(transaction, function)?)
        })
    }

    fn remember_call(&self, function: &str, call: &[u8], at: u64, most: usize, since: u64) -> Result<(), StoreFault> {
        let call = calls::Sealed::of(&*self.seal, function, call).map_err(Trouble::into_fault)?;
        self.write(false, |transaction| calls::remember(transaction, function, &call, at, most, since))
    }

    fn calls(&self, function: &str, since: u64) -> Result<Vec<Vec<u8>>, StoreFault> {
        self.read(|connection| calls::of_function(connection, &*self.seal, function, since))
    }

    fn take_lease(&self, key: &str, holder: &str, now: u64, millis: u64) -> Result<Option<Lease>, StoreFault> {
        self.write(false, |transaction| leases::take(transaction, key, holder, now, millis))
    }

    fn lease_of(&self, key: &str) -> Result<Option<(String, Lease)>, StoreFault> {
        self.read(|connection| leases::of_key(connection, key))
    }

    fn renew_lease(&self, lease: &Lease, now: u64, millis: u64) -> Result<bool, StoreFault> {
        self.write(false, |transaction| leases::renew(transaction, lease, now, millis))
    }

    fn holds(&self, lease: &Lease, now: u64) -> Result<bool, StoreFault> {
        self.read(|connection| leases::holds(connection, lease, now))
    }

    fn give_back(&self, lease: &Lease) -> Result<(), StoreFault> {
        self.write(false, |transaction| leases::give_back(transaction, lease))
    }

    fn rest(&self, fingerprint: &str) -> Result<Rest, StoreFault> {
        self.read(|connection| leases::rest(connection, fingerprint))
    }

    fn set_rest(&self, fingerprint: &str, rest: &Rest) -> Result<(), StoreFault> {
        // A rest that a power cut takes back costs one look more; a process that ends takes nothing back.
        self.write(false, |transaction| leases::set_rest(transaction, fingerprint, rest))
    }

    fn count_occurrence(&self, fingerprint: &str) -> Result<(), StoreFault> {
        self.write(false, |transaction| leases::count_occurrence(transaction, fingerprint))
    }

    fn spent(&self, buckets: &[Bucket], now: u64) -> Result<Option<String>, StoreFault> {
        self.read(|connection| budgets::spent(connection, buckets, now))
    }

    fn spend(&self, buckets: &[Bucket], now: u64) -> Result<Option<String>, StoreFault> {
        self.write(true, |transaction| budgets::spend(transaction, buckets, now))
    }

    fn settle_units(&self, bucket: &Bucket, taken: u64, used: u64) -> Result<(), StoreFault> {
        // What a power cut takes back stays counted with all that was taken.
        self.write(false, |transaction| budgets::settle(transaction, bucket, taken, used))
    }

    fn begin_model_call(&self, call: &ModelCall, limits: &Limits) -> Result<Leave, StoreFault> {
        self.write(true, |transaction| model_calls::begin(transaction, call, limits))
    }

    fn settle_model_call(&self, number: u64, cost: Cost) -> Result<(), StoreFault> {
        self.write(false, |transaction| model_calls::settle(transaction, number, cost))
    }
}
