//! The beginning of a store's file, read beside SQLite.
//!
//! A file of a store that was opened otherwise than by SQLite is not closed again in this process: POSIX takes every lock that
//! a process has on a file away when it closes any of its descriptors, and another process that then takes itself for the last
//! one removes the log that this one goes on writing into.

use std::fs::File;
use std::path::Path;

/// Whether the file is a database with a write-ahead log, as every store is once it is made (SQLite's file format, offsets
/// 18 and 19 of the header).
pub(super) fn is_made(path: &Path) -> bool {
    let mut header = [0; 20];
    read(path, &mut header).is_ok() && header.ends_with(&[2, 2])
}

#[cfg(unix)]
fn read(path: &Path, into: &mut [u8]) -> std::io::Result<()> {
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};
    use std::sync::{Mutex, PoisonError};

    /// One descriptor a file, for as long as the file has a name.
    static OPEN: Mutex<Vec<File>> = Mutex::new(Vec::new());

    let about = std::fs::metadata(path)?;
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|file| file.metadata().is_ok_and(|about| about.nlink() > 0));
    let same =
        |file: &&File| file.metadata().is_ok_and(|known| (known.dev(), known.ino()) == (about.dev(), about.ino()));
    if let Some(file) = open.iter().find(same) {
        return file.read_exact_at(into, 0);
    }
    let file = File::open(path)?;
    let read = file.read_exact_at(into, 0);
    open.push(file);
    read
}

#[cfg(not(unix))]
fn read(path: &Path, into: &mut [u8]) -> std::io::Result<()> {
    use std::io::Read as _;
    File::open(path)?.read_exact(into)
}
