//! A note beside the store of the last record that was surely on disk.
//!
//! SQLite opens a store whose write-ahead log was cut or lost without a word, and what was committed is gone. The note
//! tells: a chain that ends before it, or has another hash there, has lost records. It is written after a synced commit
//! only, so that a power cut cannot leave it ahead of the chain. A missing or unreadable note says nothing.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use sanare_core::hash::Digest;

/// Notes the head. A failure to write it loses only the watch, not a record, and is passed over.
pub(super) fn note(store: &Path, seq: u64, hash: &Digest) {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    if let Ok(mut file) = options.open(place(store)) {
        // One write of a fixed length: there is no moment at which the file is empty.
        let _ = file.write_all(format!("{seq:020} {hash}\n").as_bytes());
    }
}

/// The noted head, if there is one that can be read.
pub(super) fn read(store: &Path) -> Option<(u64, Digest)> {
    let mut text = String::new();
    std::fs::File::open(place(store)).ok()?.take(100).read_to_string(&mut text).ok()?;
    let (seq, hash) = text.strip_suffix('\n')?.split_once(' ')?;
    Some((seq.parse().ok()?, Digest::parse(hash)?))
}

fn place(store: &Path) -> PathBuf {
    let mut name = OsString::from(store);
    name.push(".head");
    PathBuf::from(name)
}
