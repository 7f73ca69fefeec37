//! Whether a file can be replaced safely, known before anything is spent on it (C103).

use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// Why a file is not replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhyNot {
    /// There is no such file, or a part of its path is a file (a zip, say).
    #[error("there is no file at `{0}`")]
    Missing(PathBuf),
    /// A folder, device, pipe or socket.
    #[error("not a regular file: `{0}`")]
    NotAFile(PathBuf),
    /// Replacing one name would part it from the others.
    #[error("`{path}` is one of {names} names of the same file")]
    HardLinks {
        /// The file.
        path: PathBuf,
        /// How many names it has.
        names: u64,
    },
    /// The file's mode or the system forbids writing.
    #[error("the file is read-only: `{0}`")]
    ReadOnlyFile(PathBuf),
    /// The file is marked immutable or append-only.
    #[error("the file is marked immutable: `{0}`")]
    Immutable(PathBuf),
    /// No file can be put beside it.
    #[error("the folder is read-only: `{0}`")]
    ReadOnlyFolder(PathBuf),
    /// Nothing on this file system can be written.
    #[error("the file system is read-only: `{0}`")]
    ReadOnlyFileSystem(PathBuf),
    /// A mount of its own cannot be renamed over.
    #[error("the file is a mount of its own: `{0}`")]
    MountPoint(PathBuf),
    /// A new file would belong to somebody else.
    #[error("owner or group of the file cannot be kept: `{0}`")]
    Owner(PathBuf),
    /// The system did not let it be looked at.
    #[error("the file cannot be examined: `{path}`: {kind}")]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What the system said.
        kind: std::io::ErrorKind,
    },
}

/// Says whether [`super::write_atomically`] could replace this file now.
pub fn writable(path: &Path) -> Result<(), WhyNot> {
    examine(path).map(|_| ())
}

/// A file that may be replaced: its name behind all links and its folder.
pub(super) struct Target {
    pub(super) path: PathBuf,
    pub(super) folder: PathBuf,
}

pub(super) fn examine(path: &Path) -> Result<Target, WhyNot> {
    let real = path.canonicalize().map_err(|fault| fault_at(path, &fault))?;
    let metadata = real.symlink_metadata().map_err(|fault| fault_at(&real, &fault))?;
    if !metadata.is_file() {
        return Err(WhyNot::NotAFile(real));
    }
    let Some(folder) = real.parent().map(Path::to_path_buf) else { return Err(WhyNot::NotAFile(real)) };
    let target = Target { path: real, folder };
    may_replace(&target, &metadata)?;
    Ok(target)
}

fn fault_at(path: &Path, fault: &std::io::Error) -> WhyNot {
    match fault.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => WhyNot::Missing(path.to_owned()),
        kind => WhyNot::Unknown { path: path.to_owned(), kind },
    }
}

#[cfg(not(unix))]
fn may_replace(target: &Target, metadata: &Metadata) -> Result<(), WhyNot> {
    if metadata.permissions().readonly() { Err(WhyNot::ReadOnlyFile(target.path.clone())) } else { Ok(()) }
}

/// Mode bits count for root too: who took the write bit away meant it.
#[cfg(unix)]
fn may_replace(target: &Target, metadata: &Metadata) -> Result<(), WhyNot> {
    use super::system::{self, Access};
    use std::os::unix::fs::MetadataExt as _;

    let Target { path, folder } = target;
    if metadata.nlink() > 1 {
        return Err(WhyNot::HardLinks { path: path.clone(), names: metadata.nlink() });
    }
    let around = folder.metadata().map_err(|fault| fault_at(folder, &fault))?;
    let (file_access, folder_access) = (system::may_write(path), system::may_write(folder));
    if file_access == Access::ReadOnlyFileSystem || folder_access == Access::ReadOnlyFileSystem {
        return Err(WhyNot::ReadOnlyFileSystem(path.clone()));
    }
    let (immutable, fixed_folder) = (system::is_immutable(path), system::is_immutable(folder));
    if immutable {
        return Err(WhyNot::Immutable(path.clone()));
    }
    if metadata.mode() & 0o200 == 0 || file_access == Access::Denied {
        return Err(WhyNot::ReadOnlyFile(path.clone()));
    }
    let who = system::identity();
    let sticky = around.mode() & 0o1000 != 0 && who.user != 0 && who.user != around.uid() && who.user != metadata.uid();
    if around.mode() & 0o200 == 0 || folder_access == Access::Denied || sticky || fixed_folder {
        return Err(WhyNot::ReadOnlyFolder(folder.clone()));
    }
    // The lock and the durability of names need the folder open.
    std::fs::File::open(folder).map_err(|fault| fault_at(folder, &fault))?;
    if system::is_mount_point(path, folder) {
        return Err(WhyNot::MountPoint(path.clone()));
    }
    if who.user != 0 && (metadata.uid() != who.user || !who.groups.contains(&metadata.gid())) {
        return Err(WhyNot::Owner(path.clone()));
    }
    Ok(())
}
