//! The shapes' rows: a few a function, the newest kept.

use rusqlite::{Connection, Transaction, params};

use super::{Trouble, stored};
use crate::SHAPE_BYTES;

/// Keeps a shape as the newest of its function and drops what is too many or too much.
pub(super) fn remember(
    transaction: &Transaction<'_>,
    function: &str,
    shape: &str,
    at: u64,
    most: usize,
) -> Result<(), Trouble> {
    transaction
        .prepare_cached(include_str!("../../sql/sqlite/shape_forget_same.sql"))?
        .execute(params![function, shape])?;
    transaction.prepare_cached(include_str!("../../sql/sqlite/shape_remember.sql"))?.execute(params![
        function,
        shape,
        stored(at)?
    ])?;
    transaction.prepare_cached(include_str!("../../sql/sqlite/shapes_drop_oldest.sql"))?.execute(params![
        function,
        stored(most as u64)?,
        stored(SHAPE_BYTES as u64)?,
    ])?;
    Ok(())
}

/// Shapes of a function, newest first.
pub(super) fn of_function(connection: &Connection, function: &str) -> Result<Vec<String>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/shapes_of_function.sql"))?;
    let shapes = statement.query_map(params![function], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(shapes)
}

/// Forgets the shapes of one function, or all.
pub(super) fn forget(transaction: &Transaction<'_>, function: Option<&str>) -> Result<u64, Trouble> {
    let gone = match function {
        Some(function) => transaction
            .prepare_cached(include_str!("../../sql/sqlite/shapes_forget_function.sql"))?
            .execute(params![function])?,
        None => transaction.prepare_cached(include_str!("../../sql/sqlite/shapes_forget_all.sql"))?.execute([])?,
    };
    Ok(gone as u64)
}
