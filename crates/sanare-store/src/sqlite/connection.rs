//! Connections: one a process, opened carefully, never shared over a fork.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use sanare_core::port::StoreFault;

use super::fault::fault;
use super::service::Queue;
use super::turn::Progress;
use super::{backup, head, header, ledger};

/// Each format's step from the one before it. Numbers are places in this list, from 1; nothing in it is ever changed.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("../../sql/sqlite/migrations/0001_first.sql"),
    include_str!("../../sql/sqlite/migrations/0002_flight.sql"),
    include_str!("../../sql/sqlite/migrations/0003_model_calls.sql"),
    include_str!("../../sql/sqlite/migrations/0004_sealed.sql"),
    include_str!("../../sql/sqlite/migrations/0005_services.sql"),
    include_str!("../../sql/sqlite/migrations/0006_quiet.sql"),
    include_str!("../../sql/sqlite/migrations/0007_deliveries.sql"),
    include_str!("../../sql/sqlite/migrations/0008_chains.sql"),
    include_str!("../../sql/sqlite/migrations/0009_keeping.sql"),
    include_str!("../../sql/sqlite/migrations/0010_by_incident.sql"),
];

/// `Sana` as a number: in the header of every store, so that a foreign SQLite file is not taken for one.
const APPLICATION: u32 = 0x5361_6E61;

/// Statements that stay planned. The library's own number is 16: one heal uses more, and each was planned anew.
const STATEMENTS: usize = 128;

/// How deep forks of forks may go.
const GENERATIONS: usize = 8;

/// A connection for each process that has used this store: a forked child must open its own and must not even close
/// its parent's. What a child inherits of the others stays untouched.
#[derive(Default)]
pub(super) struct Slots([OnceLock<Slot>; GENERATIONS]);

struct Slot {
    process: u32,
    open: Mutex<Option<Open>>,
    queue: Queue,
}

struct Open {
    connection: Connection,
    /// Whether a commit waits for the disk.
    durable: bool,
}

/// The connection, for as long as nobody else in the process may use it.
pub(super) struct Held<'a>(MutexGuard<'a, Option<Open>>);

impl Held<'_> {
    /// The connection itself.
    pub(super) fn get(&mut self) -> Result<&mut Connection, StoreFault> {
        self.open().map(|open| &mut open.connection)
    }

    /// The connection, with commits that wait for the disk or do not.
    pub(super) fn get_durable(&mut self, durable: bool) -> Result<&mut Connection, StoreFault> {
        let open = self.open()?;
        if open.durable != durable {
            let synchronous = if durable { "FULL" } else { "NORMAL" };
            open.connection.pragma_update(None, "synchronous", synchronous).map_err(fault)?;
            open.durable = durable;
        }
        Ok(&mut open.connection)
    }

    fn open(&mut self) -> Result<&mut Open, StoreFault> {
        self.0.as_mut().ok_or_else(|| StoreFault::Unusable("the connection is closed".to_owned()))
    }
}

impl Slots {
    /// The connection of the running process, opened if need be.
    pub(super) fn of_this_process(&self, path: &Path, patience: Duration) -> Result<Held<'_>, StoreFault> {
        let mut held = self.slot()?.open.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_none() {
            *held = Some(Open { connection: open_patiently(path, patience)?, durable: false });
        }
        Ok(Held(held))
    }

    /// Readings of the running process that wait to be written.
    pub(super) fn queue(&self) -> Result<&Queue, StoreFault> {
        self.slot().map(|slot| &slot.queue)
    }

    fn slot(&self) -> Result<&Slot, StoreFault> {
        let process = std::process::id();
        let mut all = self.0.iter();
        all.find_map(|slot| {
            let slot = slot.get_or_init(|| Slot { process, open: Mutex::new(None), queue: Queue::default() });
            (slot.process == process).then_some(slot)
        })
        .ok_or_else(|| StoreFault::Unusable("too many generations of forked processes".to_owned()))
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        let process = std::process::id();
        for slot in self.0.iter_mut().filter_map(OnceLock::take).filter(|slot| slot.process != process) {
            std::mem::forget(slot);
        }
    }
}

/// While several processes make one new store, SQLite refuses some of them at once, whatever its own time-out says. One
/// that is made is read at any time: who cannot is locked out, and waits only as long as somebody gets on.
fn open_patiently(path: &Path, patience: Duration) -> Result<Connection, StoreFault> {
    let begin = Instant::now();
    let mut progress = Progress::of(path);
    let made = header::is_made(path);
    let connection = loop {
        match open(path, if made { Duration::ZERO } else { patience }) {
            Err(StoreFault::Busy) if begin.elapsed() < patience && !(made && progress.stands_still(STILL)) => {
                std::thread::sleep(Duration::from_millis(2));
            }
            other => break other?,
        }
    };
    connection.busy_timeout(patience).map_err(fault)?;
    Ok(connection)
}

/// How long nothing may change in a made store that cannot be read.
const STILL: Duration = Duration::from_millis(60);

fn open(path: &Path, patience: Duration) -> Result<Connection, StoreFault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(fault)?;
    connection.busy_timeout(patience).map_err(fault)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // What makes a store may be lost with the power: it is made anew. Acts that must not be ask for more.
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(fault)?;
    // Without it a statement is planned anew whenever another value is bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(fault)?;
    let format = recognise(&connection)?;
    match head::read(path) {
        Some((seq, _)) if format == 0 => {
            return Err(StoreFault::Corrupt(format!("records are lost: {seq} were written, the file is empty")));
        }
        Some(noted) => ledger::reaches(&connection, &noted).map_err(super::Trouble::into_fault)?,
        None => {}
    }
    let journal: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).map_err(fault)?;
    if journal != "wal" {
        connection.pragma_update(None, "journal_mode", "WAL").map_err(fault)?;
    }
    for (pragma, value) in [("foreign_keys", "ON"), ("secure_delete", "ON"), ("trusted_schema", "OFF")] {
        connection.pragma_update(None, pragma, value).map_err(fault)?;
    }
    connection.pragma_update(None, "journal_size_limit", 4 * 1024 * 1024).map_err(fault)?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// Looks before anything is written: an empty file or a store of ours, else it is left alone. One transaction, since
/// another process may be making the store at this moment.
fn recognise(connection: &Connection) -> Result<u32, StoreFault> {
    let transaction = connection.unchecked_transaction().map_err(fault)?;
    let format = format_of(&transaction)?;
    transaction.commit().map_err(fault)?;
    Ok(format)
}

fn format_of(connection: &Connection) -> Result<u32, StoreFault> {
    let ask = |name: &str| connection.pragma_query_value::<u32, _>(None, name, |row| row.get(0)).map_err(fault);
    let (application, format) = (ask("application_id")?, ask("user_version")?);
    let tables: u32 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(fault)?;
    let known = MIGRATIONS.len() as u32;
    match (application, tables) {
        (0, 0) if format == 0 => Ok(0),
        (APPLICATION, _) if format > known => Err(StoreFault::Newer { found: format, known }),
        (APPLICATION, 1..) if format > 0 => Ok(format),
        (APPLICATION, _) => Err(StoreFault::Corrupt("its tables are gone".to_owned())),
        _ => Err(StoreFault::Corrupt("the file is a database, but not one of Sanare".to_owned())),
    }
}

/// Brings it to the present format: all steps in one transaction, so that it is of one format or the other whenever this is
/// ended. What is in an older store is copied first.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreFault> {
    if recognise(connection)? as usize == MIGRATIONS.len() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
    // Another process may have been faster. From here on nobody else writes.
    let format = format_of(&transaction)?;
    let steps = MIGRATIONS.get(format as usize..).unwrap_or_default();
    if format > 0 && !steps.is_empty() {
        backup::before_migration(path, format)?;
    }
    for step in steps {
        transaction.execute_batch(step).map_err(fault)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(fault)?;
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as u32).map_err(fault)?;
    transaction.commit().map_err(fault)
}
