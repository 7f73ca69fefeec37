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
        if taken >= bucket.limit {
            return Ok(Some(bucket.name.clone()));
        }
    }
    Ok(None)
}

/// Takes a unit out of each, or none.
pub(super) fn spend(transaction: &Transaction<'_>, buckets: &[Bucket], now: u64) -> Result<Option<String>, Trouble> {
    if let Some(name) = spent(transaction, buckets, now)? {
        return Ok(Some(name));
    }
    for bucket in buckets {
        let at = moment(transaction, bucket, now)?;
        transaction
            .prepare_cached(include_str!("../../sql/sqlite/spent_add.sql"))?
            .execute(params![bucket.name, stored(at)?])?;
        // By number and not by time: what a clock that jumped ahead makes old must still be there when it is set back.
        transaction
            .prepare_cached(include_str!("../../sql/sqlite/spent_drop_oldest.sql"))?
            .execute(params![bucket.name, stored(bucket.limit)?])?;
    }
    Ok(None)
}

/// The present as this budget sees it: never before the last unit that was taken.
fn moment(connection: &Connection, bucket: &Bucket, now: u64) -> Result<u64, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/spent_last.sql"))?;
    let last = statement.query_row(params![bucket.name], |row| number(row, 0)).optional()?;
    Ok(last.unwrap_or(0).max(now))
}
