//! Looking after the store: heads, what is pruned, what is erased (S117, S119).

mod tidy;

use rusqlite::{OptionalExtension as _, ToSql, Transaction, params};
use sanare_core::hash::Digest;
use sanare_core::ledger::{ChainHead, Entry, SYSTEM, Seal};
use sanare_core::port::{Erased, Keeper, Keeping, NotErased, StoreFault, Tidied};
use sanare_core::service::Moment;

use super::{Sqlite, Trouble, ledger, number, stored};

/// So long an act counts for the limits, whatever is erased of its application.
const COUNTS: u64 = 24 * 60 * 60 * 1_000;

/// What is kept of an application beside its records, in the order in which it can go.
const ROWS: [&str; 9] = [
    include_str!("../../sql/sqlite/erase_observations.sql"),
    include_str!("../../sql/sqlite/erase_snapshots.sql"),
    include_str!("../../sql/sqlite/erase_approvals.sql"),
    include_str!("../../sql/sqlite/erase_runs.sql"),
    include_str!("../../sql/sqlite/erase_deliveries.sql"),
    include_str!("../../sql/sqlite/erase_messages.sql"),
    include_str!("../../sql/sqlite/erase_measured.sql"),
    include_str!("../../sql/sqlite/erase_receipts.sql"),
    include_str!("../../sql/sqlite/erase_incidents.sql"),
];

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

    fn erase(&self, application: &str, entry: &Entry) -> Result<Erased, NotErased> {
        let mut refused = None;
        let erased = self.write(true, |to| match erase(to, application, entry)? {
            Ok(erased) => Ok(erased),
            Err(why) => {
                refused = Some(why);
                Err(StoreFault::Busy.into())
            }
        });
        match refused {
            Some(why) => Err(why),
            None => Ok(erased?),
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

fn erase(to: &Transaction<'_>, application: &str, entry: &Entry) -> Result<Result<Erased, NotErased>, Trouble> {
    for needed in [
        include_str!("../../sql/sqlite/erase_needs_incident.sql"),
        include_str!("../../sql/sqlite/erase_needs_receipt.sql"),
    ] {
        if let Some(id) = to.query_row(needed, params![application], |row| row.get(0)).optional()? {
            return Ok(Err(NotErased::Needed(id)));
        }
    }
    let left = include_str!("../../sql/sqlite/erase_left.sql");
    let left = to.query_row(left, params![application], |row| number(row, 0))?;
    let upto = ledger::head_of(to, application)?.place;
    let since = stored(entry.at.saturating_sub(COUNTS))?;
    let by: [&dyn ToSql; 2] = [&application, &since];
    let mut rows = to.execute(include_str!("../../sql/sqlite/erase_acts.sql"), by)?;
    for statement in ROWS {
        rows += to.execute(statement, params![application])?;
    }
    if rows == 0 && upto == 0 {
        return Ok(Err(NotErased::Unknown(application.to_owned())));
    }
    let record = ledger::add(to, SYSTEM, entry)?;
    let upto = stored(upto)?;
    to.execute(include_str!("../../sql/sqlite/erase_note.sql"), params![application, upto, stored(record.place)?])?;
    let payloads = to.execute(include_str!("../../sql/sqlite/erase_payloads.sql"), params![application, upto])?;
    Ok(Ok(Erased { record, payloads: payloads as u64, rows: rows as u64, left }))
}
