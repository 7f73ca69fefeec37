//! A copy of a store in use, and which format a file has.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, params};
use sanare_core::port::{Store as _, StoreFault};

use super::connection::MIGRATIONS;
use super::fault::fault;
use super::{Sqlite, head, ledger};

impl Sqlite {
    /// The newest format, which every store is brought to when it is opened.
    pub fn newest_format() -> u32 {
        MIGRATIONS.len() as u32
    }

    /// The format of a file, which is not changed; 0 for one that is empty.
    ///
    /// # Errors
    /// [`StoreFault`] where it cannot be read.
    pub fn format_of(path: &Path) -> Result<u32, StoreFault> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(fault)?;
        connection.busy_timeout(Duration::from_secs(2)).map_err(fault)?;
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(fault)
    }

    /// Writes what the store holds at this moment into a new file, which is then opened, looked at, and on the disk when
    /// this returns; the number of its ledger's records. Whoever uses the store goes on.
    ///
    /// # Errors
    /// [`StoreFault::Unusable`] where there is a file already or none can be written; then nothing stays behind.
    pub fn backup(&self, to: &Path) -> Result<u64, StoreFault> {
        let unusable = |error: std::io::Error| StoreFault::Unusable(format!("{}: {error}", to.display()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(to).map_err(unusable)?;
        let copied = self.copy(to).and_then(|records| {
            file.sync_all().map_err(unusable)?;
            Ok(records)
        });
        if copied.is_err() {
            // Half a copy is none.
            let _ = std::fs::remove_file(to);
        }
        copied
    }

    fn copy(&self, to: &Path) -> Result<u64, StoreFault> {
        let text = to.to_str().ok_or_else(|| StoreFault::Unusable(format!("{}: is no text", to.display())))?;
        self.read(|connection| {
            connection.execute(include_str!("../../sql/sqlite/store_copy.sql"), params![text])?;
            Ok(())
        })?;
        let copy = Self::open_existing(to)?
            .ok_or_else(|| StoreFault::Unusable(format!("{}: was not written", to.display())))?;
        let records = copy.verify()?.map_err(|broken| {
            StoreFault::Corrupt(format!("the chain breaks at record {}: {}", broken.seq, broken.what))
        })?;
        // So that a copy which is cut later is known as such.
        if let Some((seq, hash)) = copy.read(ledger::last)? {
            head::note(to, seq, &hash);
        }
        Ok(records)
    }
}
