//! Leases with a fence that only grows, and how failures rest.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use sanare_core::port::store::{Lease, Rest};

use super::{Trouble, number, stored};

/// Takes a lease, or renews the holder's own: that keeps its fence, every other taking has a higher one.
pub(super) fn take(
    transaction: &Transaction<'_>,
    key: &str,
    holder: &str,
    now: u64,
    millis: u64,
) -> Result<Option<Lease>, Trouble> {
    let mut statement = transaction.prepare_cached(include_str!("../../sql/sqlite/lease_of_key.sql"))?;
    let found = statement
        .query_row(params![key], |row| Ok((row.get::<_, String>(0)?, number(row, 1)?, number(row, 2)?)))
        .optional()?;
    let fence = match found {
        Some((other, _, until)) if until > now && other != holder => return Ok(None),
        Some((_, fence, until)) if until > now => fence,
        Some((_, fence, _)) => fence + 1,
        None => 1,
    };
    let until = now.saturating_add(millis);
    transaction.prepare_cached(include_str!("../../sql/sqlite/lease_set.sql"))?.execute(params![
        key,
        holder,
        stored(fence)?,
        stored(until)?,
    ])?;
    Ok(Some(Lease { key: key.to_owned(), fence, until }))
}

/// Ends a lease that is still this one.
pub(super) fn give_back(transaction: &Transaction<'_>, lease: &Lease) -> Result<(), Trouble> {
    transaction
        .prepare_cached(include_str!("../../sql/sqlite/lease_end.sql"))?
        .execute(params![lease.key, stored(lease.fence)?])?;
    Ok(())
}

/// How a fingerprint rests.
pub(super) fn rest(connection: &Connection, fingerprint: &str) -> Result<Rest, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/rest_of_fingerprint.sql"))?;
    let found = statement
        .query_row(params![fingerprint], |row| {
            Ok(Rest { until: number(row, 0)?, times: row.get(1)?, occurrences: number(row, 2)? })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}

/// Sets how a fingerprint rests.
pub(super) fn set_rest(transaction: &Transaction<'_>, fingerprint: &str, rest: &Rest) -> Result<(), Trouble> {
    transaction.prepare_cached(include_str!("../../sql/sqlite/rest_set.sql"))?.execute(params![
        fingerprint,
        stored(rest.until)?,
        rest.times,
        stored(rest.occurrences)?,
    ])?;
    Ok(())
}
