//! Looking after the store: heads, what is pruned, what is erased (S117, S119).

mod erase;
mod items;
mod tidy;

use std::time::{Duration, Instant};

use rusqlite::{Transaction, params};
use sanare_core::hash::Digest;
use sanare_core::ledger::{ChainHead, Entry, Record, SYSTEM, Seal};
use sanare_core::port::{Erased, Item, Keeper, Keeping, NotErased, Sort, StoreFault, Tidied};
use sanare_core::service::{Moment, ServiceStore};

use super::fault::fault;
use super::{Sqlite, Trouble, ledger, stored};

impl Keeper for Sqlite {
    fn store_id(&self) -> Result<String, StoreFault> {
        self.read(|to| Ok(to.query_row(include_str!("../../sql/sqlite/store_id.sql"), [], |row| row.get(0))?))
    }

    fn heads(&self) -> Result<Vec<ChainHead>, StoreFault> {
        self.read(ledger::heads)
    }

    fn hash_at(&self, chain: &str, place: u64) -> Result<Option<Digest>, StoreFault> {
        self.read(|to| ledger::hash_at(to, chain, place))
    }

    fn seals(&self) -> Result<Vec<Seal>, StoreFault> {
        self.read(ledger::seals)
    }

    fn tidy(&self, keeping: &Keeping, now: Moment, rows: usize) -> Result<Tidied, StoreFault> {
        // What a power cut takes back is done again.
        self.write(false, |to| tidy::tidy(to, keeping, now, rows))
    }

    fn prune(&self, chain: &str, before: u64, entry: &Entry) -> Result<Option<Seal>, StoreFault> {
        self.write(true, |to| prune(to, chain, before, entry))
    }

    fn begin_erasing(&self, application: &str, entry: &Entry) -> Result<u64, NotErased> {
        self.erasing(|to| erase::begin(to, application, entry))
    }

    fn erase_some(&self, application: &str, rows: usize) -> Result<Erased, NotErased> {
        self.erasing(|to| erase::some(to, application, rows))
    }

    fn end_erasing(&self, application: &str, entry: &Entry) -> Result<Record, NotErased> {
        let record = self.erasing(|to| erase::end(to, application, entry))?;
        // What was overwritten lies in the log too. Where somebody reads in it, it goes with the next one.
        let emptied = self.read(|to| Ok(to.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?));
        emptied.or_else(|fault| if fault == StoreFault::Busy { Ok(()) } else { Err(fault) })?;
        Ok(record)
    }

    fn items(&self, sort: Sort, of: Option<&str>, after: &str, most: usize) -> Result<Vec<Item>, StoreFault> {
        self.read(|to| items::items(to, sort, of, after, most))
    }

    fn is_whole(&self, within: u64) -> Result<bool, StoreFault> {
        let (begin, within) = (Instant::now(), Duration::from_millis(within));
        let mut held = self.connection()?;
        let connection = held.get()?;
        // Every thousand steps of SQLite's machine: well under a millisecond.
        connection.progress_handler(1_000, Some(move || begin.elapsed() >= within)).map_err(fault)?;
        let pages = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        connection.progress_handler(0, None::<fn() -> bool>).map_err(fault)?;
        match pages {
            Ok(pages) if pages == "ok" => Ok(true),
            Ok(pages) => Err(StoreFault::Corrupt(pages)),
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) => Ok(false),
            Err(error) => Err(fault(error)),
        }
    }

    fn services(&self) -> &dyn ServiceStore {
        self
    }
}

impl Sqlite {
    /// What an erasure itself refuses is no fault of the store: it is carried out of the transaction beside it.
    fn erasing<T>(
        &self,
        does: impl FnOnce(&Transaction<'_>) -> Result<Result<T, NotErased>, Trouble>,
    ) -> Result<T, NotErased> {
        let mut refused = None;
        let done = self.write(true, |to| match does(to)? {
            Ok(done) => Ok(done),
            Err(why) => {
                refused = Some(why);
                Err(StoreFault::Busy.into())
            }
        });
        match refused {
            Some(why) => Err(why),
            None => Ok(done?),
        }
    }
}

fn prune(to: &Transaction<'_>, chain: &str, before: u64, entry: &Entry) -> Result<Option<Seal>, Trouble> {
    let needed = include_str!("../../sql/sqlite/prune_needed.sql");
    let needed: Option<i64> =
        to.query_row(needed, params![chain, i64::try_from(before).unwrap_or(i64::MAX)], |row| row.get(0))?;
    // The newest record stays: the next one follows it.
    let newest = ledger::head_of(to, chain)?.place;
    let place = needed.and_then(|needed| u64::try_from(needed).ok()).unwrap_or(newest).min(newest).saturating_sub(1);
    let Some(hash) = ledger::hash_at(to, chain, place)? else { return Ok(None) };
    let record = ledger::add(to, SYSTEM, entry)?.place;
    let seal = Seal { head: ChainHead { chain: chain.to_owned(), place, hash }, record };
    to.execute(
        include_str!("../../sql/sqlite/prune_note.sql"),
        params![chain, stored(place)?, seal.head.hash.as_str(), stored(record)?],
    )?;
    to.execute(include_str!("../../sql/sqlite/prune_records.sql"), params![chain, stored(place)?])?;
    to.execute(include_str!("../../sql/sqlite/prune_incidents.sql"), [])?;
    Ok(Some(seal))
}
