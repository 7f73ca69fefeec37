//! Questions that a change asks of the rows before it is made.

use rusqlite::{Connection, OptionalExtension as _, params};
use sanare_core::id::Id;
use sanare_core::service::{Moment, TargetKey};

use super::super::{Trouble, stored};

/// Whether a run other than these acts on or verifies a target, or a receipt other than these is started or unknown.
pub(super) fn in_use(
    connection: &Connection,
    target: &TargetKey,
    besides: &[&Id],
    settling: &[&Id],
) -> Result<bool, Trouble> {
    let other = |statement: &str, but: &[&Id]| -> Result<bool, Trouble> {
        let mut statement = connection.prepare_cached(statement)?;
        let ids = statement.query_map(params![target.as_str()], |row| row.get::<_, String>(0))?;
        for id in ids {
            let id = id?;
            if !but.iter().any(|known| known.as_str() == id) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    Ok(other(include_str!("../../../sql/sqlite/service_runs_of_target.sql"), besides)?
        || other(include_str!("../../../sql/sqlite/service_receipts_blocking.sql"), settling)?)
}

/// One text that a statement finds by another.
pub(super) fn word(connection: &Connection, statement: &str, by: &str) -> Result<Option<String>, Trouble> {
    let mut statement = connection.prepare_cached(statement)?;
    Ok(statement.query_row(params![by], |row| row.get::<_, String>(0)).optional()?)
}

/// The revision of a run.
pub(super) fn revision(connection: &Connection, incident: &Id) -> Result<Option<u64>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../../sql/sqlite/service_run_revision.sql"))?;
    Ok(statement.query_row(params![incident.as_str()], |row| super::super::number(row, 0)).optional()?)
}

/// How many acts there were since a moment.
pub(super) fn acts_since(connection: &Connection, since: Moment) -> Result<usize, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../../sql/sqlite/service_acts_count.sql"))?;
    let count = statement.query_row(params![stored(since.micros())?], |row| super::super::number(row, 0))?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}
