//! The one folder that a trial may write: private, made by the parent, removed by the parent.

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::process::{Fate, ProcessMark};

const NAME: &str = "sanare-trial-";

/// A private folder; removed with everything in it when dropped.
#[derive(Debug)]
pub struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// Makes an empty folder that only this user may enter. The first call also removes those of dead processes.
    pub fn create() -> std::io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        static SWEEP: Once = Once::new();
        let base = std::env::temp_dir().canonicalize()?;
        SWEEP.call_once(|| sweep(&base));
        let mark = ProcessMark::current();
        loop {
            let path = base.join(format!("{NAME}{mark}-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
            match create_private(&path) {
                Err(fault) if fault.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(fault) => return Err(fault),
                Ok(()) => return Ok(Self(path)),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Removes what a trial left in it.
    pub fn empty(&self) -> std::io::Result<()> {
        for entry in std::fs::read_dir(&self.0)? {
            remove(&entry?.path());
        }
        Ok(())
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// How many bytes lie below a folder; stops counting above the bound.
#[cfg(target_os = "linux")]
pub(super) fn size_of(folder: &Path, bound: u64) -> u64 {
    let mut size = 0;
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            // Each name costs something too, or a million empty files would be free.
            size += metadata.len() + 512;
            if size > bound {
                return size;
            }
            if metadata.is_dir() {
                open.push(entry.path());
            }
        }
    }
    size
}

#[cfg(unix)]
fn create_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir(path)
}

/// Removes a tree or file; folders that were closed to their owner are opened first.
fn remove(path: &Path) {
    let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    if !is_folder {
        let _ = std::fs::remove_file(path);
    } else if std::fs::remove_dir_all(path).is_err() {
        unlock(path);
        let _ = std::fs::remove_dir_all(path);
    }
}

#[cfg(unix)]
fn unlock(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let _ = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700));
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock(&entry.path());
        }
    }
}

#[cfg(not(unix))]
fn unlock(_: &Path) {}

/// Removes folders whose process died before it could.
fn sweep(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let mark = name.to_str().and_then(|name| name.strip_prefix(NAME)?.rsplit_once('-')).map(|(mark, _)| mark);
        if mark.and_then(ProcessMark::parse).is_some_and(|mark| mark.fate() == Fate::Dead) {
            remove(&entry.path());
        }
    }
}
