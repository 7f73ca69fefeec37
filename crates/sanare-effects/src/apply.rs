//! Replacing a source file whole: old bytes or new bytes at every instant, guarded by the digest of the old ones (C105).
//!
//! The new text is written beside the old one, made durable, given the old one's mode, owner, attributes and a later
//! time of change, and swapped with it in one step. What the swap brought out is compared with what was expected: an
//! edit that slipped in between check and swap is put back. How it is undone: [`restore`] with the old bytes.

mod bytecode;
mod lock;
#[cfg(unix)]
mod system;
mod temporary;
mod writable;

pub use temporary::Cleaned;
pub use writable::{WhyNot, writable};

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sanare_core::hash::Digest;
use sanare_core::outcome::Reason;

use lock::{FolderLock, NoLock};
use temporary::Temporary;
use writable::{Target, examine};

/// How long a writer waits for the others.
const LOCK_BOUND: Duration = Duration::from_secs(10);

/// A replacement that took place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The file behind all links.
    pub path: PathBuf,
    /// Digest of the old bytes.
    pub before: Digest,
    /// Digest of the new bytes, read back from the file.
    pub after: Digest,
    /// Compiled caches that Python never checks and that could not be removed.
    pub stale_bytecode: Vec<PathBuf>,
    /// What was found of writers that died.
    pub cleaned: Cleaned,
}

/// Why a replacement did not take place. The file is as it was, except where [`ApplyError::left_new`] says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The file cannot be replaced safely.
    #[error(transparent)]
    NotWritable(#[from] WhyNot),
    /// The file is not the one that the repair was made for.
    #[error("`{path}` changed meanwhile: expected {}, found {}", .expected.short(), .found.short())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The digest that the repair was made for.
        expected: Digest,
        /// The digest of what is there.
        found: Digest,
    },
    /// The new text was in place and somebody wrote over it at once.
    #[error("`{path}` was overwritten by another program right after the change: found {}", .found.short())]
    Overwritten {
        /// The file.
        path: PathBuf,
        /// The digest of what is there.
        found: Digest,
    },
    /// The new text is in place, and a power cut could still bring the old one back.
    #[error("`{0}` is changed, but the folder could not be made durable")]
    NotDurable(PathBuf),
    /// No space or quota left, or a limit on the size of files.
    #[error("the disk is full: `{0}`")]
    DiskFull(PathBuf),
    /// Other writers held the folder for too long.
    #[error("other writers are busy in `{0}`")]
    Busy(PathBuf),
    /// The file system does not lock, so two writers could not be kept apart.
    #[error("the file system does not lock files: `{0}`")]
    NoLock(PathBuf),
    /// An extended attribute could not be copied.
    #[error("attribute `{name}` of the file cannot be kept: {kind}")]
    Attribute {
        /// The attribute.
        name: String,
        /// What the system said.
        kind: std::io::ErrorKind,
    },
    /// The system said no.
    #[error("cannot {doing} for `{path}`")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl ApplyError {
    /// The reason code under which this is recorded.
    pub fn reason(&self) -> Reason {
        match self {
            Self::NotWritable(WhyNot::Missing(_)) => Reason::NoSource,
            Self::NotWritable(WhyNot::NotAFile(_) | WhyNot::HardLinks { .. } | WhyNot::MountPoint(_)) => {
                Reason::UnsupportedTarget
            }
            Self::NotWritable(_) => Reason::Permission,
            Self::Changed { .. } => Reason::SourceChanged,
            Self::Overwritten { .. } => Reason::WorldChanged,
            Self::DiskFull(_) => Reason::DiskFull,
            Self::Busy(_) => Reason::Deadline,
            Self::NoLock(_) | Self::Attribute { .. } => Reason::UnsupportedTarget,
            Self::NotDurable(_) | Self::Io { .. } => Reason::Internal,
        }
    }

    /// True when the old bytes are no longer the file's: compare digests before doing anything else.
    pub fn left_new(&self) -> bool {
        matches!(self, Self::Overwritten { .. } | Self::NotDurable(_))
    }
}

/// The points between which a replacement can be cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The folder is locked.
    Locked,
    /// The old bytes are the expected ones.
    Checked,
    /// An empty file lies beside the old one.
    Created,
    /// It holds the new bytes.
    Written,
    /// It has mode, owner, attributes and time.
    Dressed,
    /// It is durable.
    Synced,
    /// It has the name under which it may be swapped.
    Ready,
    /// The new bytes have the file's name.
    Swapped,
    /// The bytes that were swapped out are the expected ones.
    Confirmed,
    /// The names are durable.
    FolderSynced,
    /// The old bytes are gone.
    Removed,
}

impl Step {
    /// Every step, in order.
    pub const ALL: [Self; 11] = [
        Self::Locked,
        Self::Checked,
        Self::Created,
        Self::Written,
        Self::Dressed,
        Self::Synced,
        Self::Ready,
        Self::Swapped,
        Self::Confirmed,
        Self::FolderSynced,
        Self::Removed,
    ];
}

/// Replaces the file's bytes if they have the expected digest. Links are followed and stay.
pub fn write_atomically(path: &Path, expected: &Digest, new_bytes: &[u8]) -> Result<Applied, ApplyError> {
    write_watched(path, expected, new_bytes, &mut |_| ())
}

/// Puts the original bytes back if the file still holds what was applied.
pub fn restore(path: &Path, applied: &Digest, original: &[u8]) -> Result<Applied, ApplyError> {
    write_atomically(path, applied, original)
}

/// Like [`write_atomically`], telling each step as it is done.
pub fn write_watched(
    path: &Path,
    expected: &Digest,
    new_bytes: &[u8],
    watch: &mut dyn FnMut(Step),
) -> Result<Applied, ApplyError> {
    let target = examine(path)?;
    let lock = take_lock(&target)?;
    watch(Step::Locked);
    // Leftovers of others are no reason to fail, the next writer meets them again.
    let cleaned = temporary::clean(&target.folder, lock.covers_folder()).unwrap_or_default();
    let target = examine(&target.path)?;
    let old = File::open(&target.path).map_err(|source| fault(&target.path, "open the file", source))?;
    must_be(&target.path, expected, &digest_of(&old, &target.path)?)?;
    watch(Step::Checked);

    let after = Digest::of(new_bytes);
    let texts = Texts { before: expected, after: &after };
    let new = prepare(&target, &old, texts, new_bytes, watch)?;
    swap(&target.path, &lock, &new, texts, watch)?;
    let stale_bytecode = bytecode::remove_unchecked(&target.path);
    drop(new);
    watch(Step::Removed);
    Ok(Applied { path: target.path, before: expected.clone(), after, stale_bytecode, cleaned })
}

/// The digests of both texts.
#[derive(Clone, Copy)]
struct Texts<'a> {
    before: &'a Digest,
    after: &'a Digest,
}

/// Whether a file could be kept at this path, made with its folder if need be. Nothing is tried: the system is asked.
pub fn can_be_kept(path: &Path) -> bool {
    let mut at = path;
    while !at.exists() {
        match at.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => at = parent,
            _ => return false,
        }
    }
    let folder = if at.is_dir() { at } else { at.parent().unwrap_or(at) };
    #[cfg(unix)]
    let granted = |path: &Path| matches!(system::may_write(path), system::Access::Granted);
    #[cfg(not(unix))]
    let granted = |path: &Path| path.metadata().is_ok_and(|found| path.is_dir() || !found.permissions().readonly());
    granted(at) && granted(folder)
}

/// Removes what writers that died left in a folder. Running it again changes nothing.
pub fn clean_up(folder: &Path) -> Result<Cleaned, ApplyError> {
    let lock = lock_folder(folder, folder)?;
    temporary::clean(folder, lock.covers_folder()).map_err(|source| fault(folder, "remove leftovers", source))
}

/// Writes the new text beside the old one and makes it complete and durable.
fn prepare(
    target: &Target,
    old: &File,
    texts: Texts<'_>,
    bytes: &[u8],
    watch: &mut dyn FnMut(Step),
) -> Result<Temporary, ApplyError> {
    let at = |doing| move |source| fault(&target.path, doing, source);
    let mut new = Temporary::create(&target.folder).map_err(at("create a file beside it"))?;
    watch(Step::Created);
    new.write(bytes).map_err(at("write the new text"))?;
    watch(Step::Written);
    dress(&new.file, old, &target.path)?;
    watch(Step::Dressed);
    // A failed sync means the data is lost, and a second one would say that all is well: start over with a new file.
    new.file.sync_all().map_err(at("make the new text durable"))?;
    watch(Step::Synced);
    new.make_ready(texts.before, texts.after).map_err(at("name the new text"))?;
    watch(Step::Ready);
    Ok(new)
}

/// Gives the new file everything of the old one but its bytes.
fn dress(new: &File, old: &File, path: &Path) -> Result<(), ApplyError> {
    let metadata = old.metadata().map_err(|source| fault(path, "look at the file", source))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let fresh = new.metadata().map_err(|source| fault(path, "look at the new text", source))?;
        if (fresh.uid(), fresh.gid()) != (metadata.uid(), metadata.gid()) {
            std::os::unix::fs::fchown(new, Some(metadata.uid()), Some(metadata.gid()))
                .map_err(|_| WhyNot::Owner(path.to_owned()))?;
        }
    }
    // The mode after the owner, because a change of owner clears bits of the mode. Attributes may hold more of the mode:
    // those that the folder gave go before it, those of the old file come after it.
    #[cfg(unix)]
    let attribute = |(name, fault): (String, std::io::Error)| ApplyError::Attribute { name, kind: fault.kind() };
    #[cfg(unix)]
    system::drop_other_attributes(old, new).map_err(attribute)?;
    new.set_permissions(metadata.permissions()).map_err(|source| fault(path, "keep the mode", source))?;
    #[cfg(unix)]
    system::copy_attributes(old, new).map_err(attribute)?;
    let changed = metadata.modified().map_err(|source| fault(path, "read the time of change", source))?;
    let later = bytecode::time_of_change(changed, SystemTime::now());
    new.set_modified(later).map_err(|source| fault(path, "set the time of change", source))
}

/// Puts the new file in the place of the old one, or leaves everything as it was.
fn swap(
    path: &Path,
    lock: &FolderLock,
    new: &Temporary,
    texts: Texts<'_>,
    watch: &mut dyn FnMut(Step),
) -> Result<(), ApplyError> {
    match exchange(&new.path, path) {
        Ok(()) => {}
        Err(source) if cannot_exchange(&source) => return rename_over(path, lock, new, texts, watch),
        Err(source) => return Err(fault(path, "put the new text in place", source)),
    }
    watch(Step::Swapped);
    match confirm(path, lock, new, texts, watch) {
        Err(why) if !why.left_new() => {
            put_back(path, new, texts)?;
            let _ = lock.sync();
            Err(why)
        }
        settled => settled,
    }
}

/// After the swap: what came out must be the expected text, what is in place the new one, and the names durable.
fn confirm(
    path: &Path,
    lock: &FolderLock,
    new: &Temporary,
    texts: Texts<'_>,
    watch: &mut dyn FnMut(Step),
) -> Result<(), ApplyError> {
    must_be(path, texts.before, &digest_at(&new.path)?)?;
    let found = digest_at(path)?;
    if found != *texts.after {
        return Err(ApplyError::Overwritten { path: path.to_owned(), found });
    }
    watch(Step::Confirmed);
    lock.sync().map_err(|source| fault(path, "make the change durable", source))?;
    watch(Step::FolderSynced);
    Ok(())
}

/// Swaps back. If somebody wrote over the new text meanwhile, the latest writer wins, as without us.
fn put_back(path: &Path, new: &Temporary, texts: Texts<'_>) -> Result<(), ApplyError> {
    let back = || exchange(&new.path, path).map_err(|source| fault(path, "put the old text back", source));
    back()?;
    if digest_at(&new.path).is_ok_and(|found| found != *texts.after) { back() } else { Ok(()) }
}

/// Where names cannot be swapped: look once more, then rename. An edit in the instant between is lost.
fn rename_over(
    path: &Path,
    lock: &FolderLock,
    new: &Temporary,
    texts: Texts<'_>,
    watch: &mut dyn FnMut(Step),
) -> Result<(), ApplyError> {
    must_be(path, texts.before, &digest_at(path)?)?;
    std::fs::rename(&new.path, path).map_err(|source| fault(path, "put the new text in place", source))?;
    watch(Step::Swapped);
    let found = digest_at(path).map_err(|_| ApplyError::NotDurable(path.to_owned()))?;
    if found != *texts.after {
        return Err(ApplyError::Overwritten { path: path.to_owned(), found });
    }
    watch(Step::Confirmed);
    lock.sync().map_err(|_| ApplyError::NotDurable(path.to_owned()))?;
    watch(Step::FolderSynced);
    Ok(())
}

fn take_lock(target: &Target) -> Result<FolderLock, ApplyError> {
    lock_folder(&target.folder, &target.path)
}

fn lock_folder(folder: &Path, target: &Path) -> Result<FolderLock, ApplyError> {
    FolderLock::take(folder, target, LOCK_BOUND).map_err(|why| match why {
        NoLock::Busy => ApplyError::Busy(folder.to_owned()),
        NoLock::Io(source) if source.kind() == std::io::ErrorKind::NotFound => {
            WhyNot::Missing(target.to_owned()).into()
        }
        NoLock::Io(source) if source.kind() == std::io::ErrorKind::PermissionDenied => {
            WhyNot::ReadOnlyFolder(folder.to_owned()).into()
        }
        NoLock::Io(source) if system_limit(&source) => fault(target, "open the folder", source),
        NoLock::Io(_) => ApplyError::NoLock(folder.to_owned()),
    })
}

fn must_be(path: &Path, expected: &Digest, found: &Digest) -> Result<(), ApplyError> {
    if found == expected {
        return Ok(());
    }
    Err(ApplyError::Changed { path: path.to_owned(), expected: expected.clone(), found: found.clone() })
}

fn digest_at(path: &Path) -> Result<Digest, ApplyError> {
    let file = File::open(path).map_err(|source| fault(path, "open the file", source))?;
    digest_of(&file, path)
}

fn digest_of(mut file: &File, path: &Path) -> Result<Digest, ApplyError> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|source| fault(path, "read the file", source))?;
    Ok(Digest::of(&bytes))
}

fn fault(path: &Path, doing: &'static str, source: std::io::Error) -> ApplyError {
    use std::io::ErrorKind;
    let path = path.to_owned();
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => ApplyError::DiskFull(path),
        ErrorKind::ReadOnlyFilesystem => WhyNot::ReadOnlyFileSystem(path).into(),
        ErrorKind::NotFound => WhyNot::Missing(path).into(),
        _ => ApplyError::Io { doing, path, source },
    }
}

#[cfg(unix)]
use system::{cannot_exchange, exchange, is_network, system_limit};

#[cfg(not(unix))]
use elsewhere::{cannot_exchange, exchange, is_network, system_limit};

/// What systems without these calls answer: the plain rename is used, and only the lock file tells writers apart.
#[cfg(not(unix))]
mod elsewhere {
    use std::fs::File;
    use std::path::Path;

    pub(super) fn exchange(_: &Path, _: &Path) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub(super) fn cannot_exchange(_: &std::io::Error) -> bool {
        true
    }

    pub(super) fn is_network(_: &File) -> bool {
        true
    }

    pub(super) fn system_limit(_: &std::io::Error) -> bool {
        false
    }
}
