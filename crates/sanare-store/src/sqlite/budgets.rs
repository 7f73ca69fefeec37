//! Budgets: units taken, counted over a sliding window that no restart and no clock refills.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use sanare_core::port::store::Bucket;

use super::{Trouble, number, stored};

/// The first budget that is spent.
pub(super) fn spent(connection: &Connection, buckets: &[Bucket], now: u64) -> Result<Option<String>, Trouble> {
    for bucket in buckets {
        let since = moment(connection, bucket, now)?.saturating_sub(bucket.window);
        let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/spent_count.sql"))?;
        let taken = statement.query_row(params![bucket.name, stored(since)?], |row| number(row, 0))?;
        if taken.saturating_add(bucket.units) > bucket.limit {
            return Ok(Some(bucket.name.clone()));
        }
    }
    Ok(None)
}

/// Takes the units out of each, or none.
pub(super) fn spend(transaction: &Transaction<'_>, buckets: &[Bucket], now: u64) -> Result<Option<String>, Trouble> {
    if let Some(name) = spent(transaction, buckets, now)? {
        return Ok(Some(name));
    }
    for bucket in buckets {
        add(transaction, bucket, now, bucket.units)?;
        // By number and not by time: what a clock that jumped ahead makes old must still be there when it is set back.
        transaction
            .prepare_cached(include_str!("../../sql/sqlite/spent_drop_oldest.sql"))?
            .execute(params![bucket.name, stored(bucket.limit)?])?;
    }
    Ok(None)
}

/// What was used of the units that were taken: the rest goes back. The oldest since then go first, whoever took them, so that
/// those that stay are counted no shorter than their own.
pub(super) fn settle(transaction: &Transaction<'_>, bucket: &Bucket, taken: u64, used: u64) -> Result<(), Trouble> {
    let over = used.saturating_sub(bucket.units);
    if over > 0 {
        return add(transaction, bucket, taken, over);
    }
    transaction.prepare_cached(include_str!("../../sql/sqlite/spent_give_back.sql"))?.execute(params![
        bucket.name,
        stored(taken)?,
        stored(bucket.units - used)?
    ])?;
    Ok(())
}

fn add(transaction: &Transaction<'_>, bucket: &Bucket, now: u64, units: u64) -> Result<(), Trouble> {
    let at = stored(moment(transaction, bucket, now)?)?;
    let mut statement = transaction.prepare_cached(include_str!("../../sql/sqlite/spent_add.sql"))?;
    for _ in 0..units {
        statement.execute(params![bucket.name, at])?;
    }
    Ok(())
}

/// The present as this budget sees it: never before the last unit that was taken.
fn moment(connection: &Connection, bucket: &Bucket, now: u64) -> Result<u64, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/spent_last.sql"))?;
    let last = statement.query_row(params![bucket.name], |row| number(row, 0)).optional()?;
    Ok(last.unwrap_or(0).max(now))
}
