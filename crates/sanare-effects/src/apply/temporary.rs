//! The new text beside the old one: temporary files that tell whose they are and what they may hold.
//!
//! Two names, one after the other. `.sanare-w-…` is being written and has never been visible as source. `.sanare-x-…`
//! is complete and may be swapped with the target; it carries the digests of both texts, so that a later cleaner knows
//! the two contents that are ours and keeps any third one, which is somebody's edit caught by a crash.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sanare_core::hash::Digest;

use crate::process::{Fate, ProcessMark};

const WRITING: &str = ".sanare-w-";
const READY: &str = ".sanare-x-";
const END: &str = ".tmp";

/// Where no lock tells, a file this old has no writer any more.
const LONG_AGO: Duration = Duration::from_secs(3600);

static COUNT: AtomicU64 = AtomicU64::new(0);

/// A temporary file; its name is removed when dropped.
pub(super) struct Temporary {
    pub(super) path: PathBuf,
    pub(super) file: File,
}

/// What a cleaning did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Files of dead writers that are gone now.
    pub removed: Vec<PathBuf>,
    /// Files of dead writers that hold a text which is neither the old nor the new one.
    pub kept: Vec<PathBuf>,
}

impl Temporary {
    /// Makes an empty private file under a name that nobody has.
    pub(super) fn create(folder: &Path) -> std::io::Result<Self> {
        let mark = ProcessMark::current();
        loop {
            let path = folder.join(format!("{WRITING}{mark}-{}{END}", COUNT.fetch_add(1, Ordering::Relaxed)));
            match create_private(&path) {
                Err(fault) if fault.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(fault) => return Err(fault),
                Ok(file) => return Ok(Self { path, file }),
            }
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)
    }

    /// Gives the complete file the name under which it may be swapped with the target.
    pub(super) fn make_ready(&mut self, before: &Digest, after: &Digest) -> std::io::Result<()> {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let mark = name.trim_start_matches(WRITING).trim_end_matches(END);
        let ready = self.path.with_file_name(format!("{READY}{mark}.{}.{}{END}", before.short(), after.short()));
        std::fs::rename(&self.path, &ready)?;
        self.path = ready;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(unix)]
fn create_private(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    File::options().write(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> std::io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// Removes what dead writers left in a folder. `alone` says that no other writer can be at work in it.
pub(super) fn clean(folder: &Path, alone: bool) -> std::io::Result<Cleaned> {
    let mut cleaned = Cleaned::default();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Some(left) = entry.file_name().to_str().and_then(Leftover::parse) else { continue };
        let path = entry.path();
        if !entry.file_type()?.is_file() || !left.is_dead(&path, alone) {
            continue;
        }
        if left.is_ours(&path) {
            std::fs::remove_file(&path)?;
            cleaned.removed.push(path);
        } else {
            cleaned.kept.push(path);
        }
    }
    Ok(cleaned)
}

struct Leftover {
    writer: ProcessMark,
    /// Short digests of old and new text, when the file may hold either.
    texts: Option<[String; 2]>,
}

impl Leftover {
    fn parse(name: &str) -> Option<Self> {
        let name = name.strip_suffix(END)?;
        let (mark, texts) = match name.strip_prefix(WRITING) {
            Some(mark) => (mark, None),
            None => {
                let mut parts = name.strip_prefix(READY)?.split('.');
                let (mark, before, after) = (parts.next()?, parts.next()?, parts.next()?);
                (mark, Some([before.to_owned(), after.to_owned()]))
            }
        };
        let (writer, count) = mark.rsplit_once('-')?;
        count.parse::<u64>().ok()?;
        Some(Self { writer: ProcessMark::parse(writer)?, texts })
    }

    fn is_dead(&self, path: &Path, alone: bool) -> bool {
        match self.writer.fate() {
            Fate::Dead => true,
            // A live writer holds the lock while its file exists, but a file may also be one that could not be removed.
            Fate::Alive | Fate::Unknown if alone => true,
            Fate::Alive => false,
            Fate::Unknown => age(path).is_some_and(|age| age > LONG_AGO),
        }
    }

    fn is_ours(&self, path: &Path) -> bool {
        let Some(texts) = &self.texts else { return true };
        std::fs::read(path).is_ok_and(|bytes| texts.iter().any(|text| text == Digest::of(&bytes).short()))
    }
}

fn age(path: &Path) -> Option<Duration> {
    path.symlink_metadata().ok()?.modified().ok()?.elapsed().ok()
}
