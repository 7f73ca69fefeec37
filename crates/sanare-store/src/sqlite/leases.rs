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
    let runs = |until: u64| until > now && until - now <= 2 * millis;
    let fence = match found {
        Some((other, _, until)) if runs(until) && other != holder => return Ok(None),
        Some((other, fence, until)) if runs(until) && other == holder => fence,
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

/// The lease of a key with its holder, unless it was given back.
pub(super) fn of_key(connection: &Connection, key: &str) -> Result<Option<(String, Lease)>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/lease_of_key.sql"))?;
    let found = statement
        .query_row(params![key], |row| {
            let lease = Lease { key: key.to_owned(), fence: number(row, 1)?, until: number(row, 2)? };
            Ok((row.get::<_, String>(0)?, lease))
        })
        .optional()?;
    Ok(found.filter(|(_, lease)| lease.until != 0))
}

/// Whether a lease is still the newest of its key and runs.
pub(super) fn holds(connection: &Connection, lease: &Lease, now: u64) -> Result<bool, Trouble> {
    let found = of_key(connection, &lease.key)?;
    Ok(found.is_some_and(|(_, held)| held.fence == lease.fence && held.until > now))
}

/// Moves the end of a lease that is still this one and runs.
pub(super) fn renew(transaction: &Transaction<'_>, lease: &Lease, now: u64, millis: u64) -> Result<bool, Trouble> {
    let moved = transaction.prepare_cached(include_str!("../../sql/sqlite/lease_renew.sql"))?.execute(params![
        lease.key,
        stored(lease.fence)?,
        stored(now.saturating_add(millis))?,
        stored(now)?,
    ])?;
    Ok(moved == 1)
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

/// Counts an occurrence of a failure that rests.
pub(super) fn count_occurrence(transaction: &Transaction<'_>, fingerprint: &str) -> Result<(), Trouble> {
    transaction.prepare_cached(include_str!("../../sql/sqlite/rest_count.sql"))?.execute(params![fingerprint])?;
    Ok(())
}
