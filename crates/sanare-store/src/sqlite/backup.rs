//! A copy of a store in use, and which format a file has.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
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
        let file = private(to).map_err(unusable)?;
        let copied = self.copy(to).and_then(|records| {
            file.sync_all().map_err(unusable)?;
            Ok(records)
        });
        if copied.is_err() {
            // Half a copy is none.
            let _ = fs::remove_file(to);
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

/// A new file that only its owner reads.
fn private(path: &Path) -> std::io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Copies a store of an older format into a file beside it that is named after the format, for good: `store.db.format-7`,
/// and `store.db.format-7-2` where there is one already. The caller holds the store, so that nobody writes meanwhile; the copy
/// has its name only once it is whole and on the disk.
pub(super) fn before_migration(store: &Path, format: u32) -> Result<(), StoreFault> {
    let beside = |end: &str| {
        let mut name = OsString::from(store);
        name.push(format!(".format-{format}{end}"));
        PathBuf::from(name)
    };
    let half = beside(".half");
    // Of a process that was killed here: whoever holds the store is alone with it.
    let _ = fs::remove_file(&half);
    let copied = copy_of_format(store, &half, format).and_then(|()| {
        let free = |number: &u32| {
            let name = beside(&if *number == 1 { String::new() } else { format!("-{number}") });
            name.symlink_metadata().is_err().then_some(name)
        };
        let place = (1..).find_map(|number: u32| free(&number)).ok_or("there is no name left for it")?;
        fs::rename(&half, &place).map_err(|error| error.to_string())?;
        // The name is on the disk before the store is changed.
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| error.to_string())
    });
    copied.map_err(|why| {
        let _ = fs::remove_file(&half);
        StoreFault::NotMigrated { from: format, why }
    })
}

fn copy_of_format(store: &Path, to: &Path, format: u32) -> Result<(), String> {
    let text = to.to_str().ok_or_else(|| format!("{}: is no text", to.display()))?;
    let file = private(to).map_err(|error| format!("{}: {error}", to.display()))?;
    let said = |error: rusqlite::Error| fault(error).to_string();
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let source = Connection::open_with_flags(store, flags).map_err(said)?;
    source.execute(include_str!("../../sql/sqlite/store_copy.sql"), params![text]).map_err(said)?;
    file.sync_all().map_err(|error| error.to_string())?;
    let copy = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(said)?;
    let found: u32 = copy.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(said)?;
    let whole: String = copy.pragma_query_value(None, "quick_check", |row| row.get(0)).map_err(said)?;
    match whole.as_str() {
        "ok" if found == format => Ok(()),
        "ok" => Err(format!("the copy has format {found}")),
        _ => Err(format!("the copy is damaged: {whole}")),
    }
}
