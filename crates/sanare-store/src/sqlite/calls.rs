//! Good calls with their values: rows that nobody reads without the owner's key.

use rusqlite::{Connection, Transaction, params};
use sanare_core::port::Seal;

use super::{Trouble, stored};

/// What the bytes are, for the seal: a call of this function and of no other.
fn about(function: &str) -> String {
    format!("a call of {function}")
}

/// A call with its mark, sealed: made before the transaction, since it may have to make the key.
pub(super) struct Sealed {
    mark: String,
    bytes: Vec<u8>,
}

impl Sealed {
    pub(super) fn of(seal: &dyn Seal, function: &str, call: &[u8]) -> Result<Self, Trouble> {
        Ok(Self { mark: seal.mark(&about(function), call)?, bytes: seal.seal(&about(function), call)? })
    }
}

/// Keeps a call as the newest of its function; what is too many or older than `since` goes.
pub(super) fn remember(
    transaction: &Transaction<'_>,
    function: &str,
    call: &Sealed,
    at: u64,
    most: usize,
    since: u64,
) -> Result<(), Trouble> {
    transaction
        .prepare_cached(include_str!("../../sql/sqlite/call_forget_same.sql"))?
        .execute(params![function, call.mark])?;
    transaction.prepare_cached(include_str!("../../sql/sqlite/call_remember.sql"))?.execute(params![
        function,
        call.mark,
        call.bytes,
        stored(at)?
    ])?;
    transaction.prepare_cached(include_str!("../../sql/sqlite/calls_drop_oldest.sql"))?.execute(params![
        function,
        stored(most as u64)?,
        stored(since)?,
    ])?;
    Ok(())
}

/// Calls of a function since then, newest first. One that does not open is none.
pub(super) fn of_function(
    connection: &Connection,
    seal: &dyn Seal,
    function: &str,
    since: u64,
) -> Result<Vec<Vec<u8>>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/calls_of_function.sql"))?;
    let rows = statement.query_map(params![function, stored(since)?], |row| row.get::<_, Vec<u8>>(0))?;
    let rows: Vec<Vec<u8>> = rows.collect::<Result<_, _>>()?;
    Ok(rows.iter().filter_map(|sealed| seal.open(&about(function), sealed).ok()).collect())
}

/// Forgets the calls of one function, or all.
pub(super) fn forget(transaction: &Transaction<'_>, function: Option<&str>) -> Result<u64, Trouble> {
    let gone = match function {
        Some(function) => transaction
            .prepare_cached(include_str!("../../sql/sqlite/calls_forget_function.sql"))?
            .execute(params![function])?,
        None => transaction.prepare_cached(include_str!("../../sql/sqlite/calls_forget_all.sql"))?.execute([])?,
    };
    Ok(gone as u64)
}
