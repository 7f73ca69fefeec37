//! The store as a file: brought to the present format, and copied while it is in use (S120).

use std::path::Path;

use sanare_core::port::StoreFault;
use sanare_store::Sqlite;
use serde::Serialize;

/// What became of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Migrated {
    /// The format that it had; 0 for an empty file.
    pub from: u32,
    /// The format that it has.
    pub to: u32,
}

/// Brings a store to the present format, as every use of it does. One of a later version is not touched.
///
/// # Errors
/// [`StoreFault`].
pub fn migrate(path: &Path) -> Result<Migrated, StoreFault> {
    let from = Sqlite::format_of(path)?;
    let store = Sqlite::open_existing(path)?;
    store.ok_or_else(|| StoreFault::Unusable(format!("{}: it went away", path.display())))?;
    Ok(Migrated { from, to: Sqlite::format_of(path)? })
}

/// Copies a store into a new file, looks at the copy, and gives the number of its ledger's records.
///
/// # Errors
/// [`StoreFault`]; then there is no copy.
pub fn backup(path: &Path, to: &Path) -> Result<u64, StoreFault> {
    let store = Sqlite::open_existing(path)?;
    store.ok_or_else(|| StoreFault::Unusable(format!("{}: it went away", path.display())))?.backup(to)
}
