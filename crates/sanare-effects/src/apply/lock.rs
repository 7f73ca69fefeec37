//! One writer a folder at a time, among all processes that use this crate.
//!
//! The lock is the kernel's own, on the folder itself: nothing is left behind when its holder dies, and no lock file
//! appears in the user's tree. Where a file system does not lock folders (network ones), the target file is locked.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

/// A held lock; ends when dropped.
pub(super) struct FolderLock {
    locked: File,
    folder: File,
    whole_folder: bool,
}

/// Why there is no lock.
#[derive(Debug)]
pub(super) enum NoLock {
    /// Another process held it for the whole bound.
    Busy,
    /// The file system ignores locks, or opening failed.
    Io(std::io::Error),
}

impl FolderLock {
    /// Waits for the lock, up to a bound.
    pub(super) fn take(folder: &Path, target: &Path, bound: Duration) -> Result<Self, NoLock> {
        let deadline = Instant::now() + bound;
        let handle = open_folder(folder).map_err(NoLock::Io)?;
        match wait(&handle, deadline) {
            Ok(()) => {
                let locked = handle.try_clone().map_err(NoLock::Io)?;
                Ok(Self { locked, folder: handle, whole_folder: true })
            }
            Err(NoLock::Busy) => Err(NoLock::Busy),
            Err(NoLock::Io(_)) => Self::take_file(handle, target, deadline),
        }
    }

    /// The file may be replaced while we wait for it; then the lock is on a file that nobody sees any more.
    fn take_file(folder: File, target: &Path, deadline: Instant) -> Result<Self, NoLock> {
        loop {
            let file = File::options().read(true).write(true).open(target).map_err(NoLock::Io)?;
            wait(&file, deadline)?;
            if same_file(&file, target).map_err(NoLock::Io)? {
                return Ok(Self { locked: file, folder, whole_folder: false });
            }
        }
    }

    /// True when no other writer of this crate can be at work anywhere in the folder.
    pub(super) fn covers_folder(&self) -> bool {
        self.whole_folder && !super::is_network(&self.folder)
    }

    /// Makes names in the folder durable.
    pub(super) fn sync(&self) -> std::io::Result<()> {
        if cfg!(windows) { Ok(()) } else { self.folder.sync_all() }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // A descriptor that a fork inherited would hold the lock on, so it is given back by name and not by closing.
        let _ = self.locked.unlock();
    }
}

fn wait(file: &File, deadline: Instant) -> Result<(), NoLock> {
    let mut pause = Duration::from_micros(200);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Err(NoLock::Busy),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(fault)) if fault.kind() == std::io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(fault)) => return Err(NoLock::Io(fault)),
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

#[cfg(not(windows))]
fn open_folder(folder: &Path) -> std::io::Result<File> {
    File::open(folder)
}

/// Folders cannot be locked there, and locking the target would keep it from being read: a file in the temporary folder
/// stands for the folder.
#[cfg(windows)]
fn open_folder(folder: &Path) -> std::io::Result<File> {
    let name = sanare_core::hash::Digest::of(folder.to_string_lossy().as_bytes());
    let path = std::env::temp_dir().join(format!("sanare-{}.lock", name.short()));
    File::options().write(true).create(true).truncate(false).open(path)
}

#[cfg(unix)]
fn same_file(file: &File, path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let (one, two) = (file.metadata()?, path.metadata()?);
    Ok((one.dev(), one.ino()) == (two.dev(), two.ino()))
}

#[cfg(not(unix))]
fn same_file(_: &File, _: &Path) -> std::io::Result<bool> {
    Ok(true)
}
