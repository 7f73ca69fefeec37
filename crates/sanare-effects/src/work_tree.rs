//! A copy of the owner's work tree for their own commands: bounded, private, removed at the end (C94).
//!
//! What git knows and what it does not ignore, uncommitted edits included; without git everything but what tools leave
//! behind. Files are shared with the original where the file system can. Beside the tree lie a home folder and a folder
//! for temporary files, both empty.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::task::{Task, TaskEnd, run};
use crate::trial::PrivateFolder;

/// A copy; removed with everything in it when dropped.
#[derive(Debug)]
pub struct WorkCopy {
    folder: PrivateFolder,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum CannotCopy {
    /// The tree is larger than allowed.
    #[error("the work tree is larger than {0} bytes")]
    TooLarge(u64),
    /// A file or folder could not be read or written.
    #[error("the work tree could not be copied: {0}")]
    Io(#[from] std::io::Error),
}

/// Folders that tools leave behind, for trees without git.
const LEFT_BEHIND: [&str; 14] = [
    ".git",
    ".hg",
    ".svn",
    ".sanare",
    "__pycache__",
    "node_modules",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".direnv",
];
/// How long git may list.
const LISTING: Duration = Duration::from_secs(10);
/// The longest list of names.
const NAMES: usize = 64 << 20;

impl WorkCopy {
    /// Copies a project's folder, at most so many bytes. Files in `always` are copied even when git ignores them.
    pub fn make(root: &Path, always: &[&Path], limit: u64) -> Result<Self, CannotCopy> {
        let copy = Self { folder: PrivateFolder::create()? };
        for folder in [copy.tree(), copy.home(), copy.temporary()] {
            std::fs::create_dir(folder)?;
        }
        let mut names = match listed(root) {
            Some(names) => names,
            None => walked(root)?,
        };
        names.extend(always.iter().map(|path| path.to_path_buf()));
        names.sort();
        names.dedup();
        let mut left = limit;
        for name in names {
            copy.take(root, &name, &mut left, limit)?;
        }
        Ok(copy)
    }

    /// The private folder that holds everything: the only one that a command may write.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The project's folder in the copy.
    pub fn tree(&self) -> PathBuf {
        self.folder().join("tree")
    }

    /// An empty home.
    pub fn home(&self) -> PathBuf {
        self.folder().join("home")
    }

    /// An empty folder for temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.folder().join("tmp")
    }

    /// Copies one file, link, or folder (a repository within the repository).
    fn take(&self, root: &Path, name: &Path, left: &mut u64, limit: u64) -> Result<(), CannotCopy> {
        if !name.components().all(|part| matches!(part, Component::Normal(_))) {
            return Ok(());
        }
        let from = root.join(name);
        // A file that git knows and the owner removed is not there.
        let Ok(metadata) = from.symlink_metadata() else { return Ok(()) };
        let to = self.tree().join(name);
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder)?;
        }
        if metadata.is_dir() {
            for inner in walked(&from)? {
                self.take(root, &name.join(inner), left, limit)?;
            }
        } else if metadata.is_symlink() {
            if to.symlink_metadata().is_err() {
                std::os::unix::fs::symlink(std::fs::read_link(&from)?, &to)?;
            }
        } else if metadata.is_file() {
            *left = left.checked_sub(metadata.len().saturating_add(512)).ok_or(CannotCopy::TooLarge(limit))?;
            std::fs::copy(&from, &to)?;
        }
        Ok(())
    }
}

/// What git lists: known files and those that it does not ignore. `None` without git.
fn listed(root: &Path) -> Option<Vec<PathBuf>> {
    if !root.ancestors().any(|folder| folder.join(".git").exists()) {
        return None;
    }
    let kept = ["PATH", "HOME", "LANG"];
    let environment = kept.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?))).collect();
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let done = run(&Task {
        program: "git".into(),
        arguments: arguments.map(OsString::from).into(),
        folder: root.to_owned(),
        environment,
        input: Vec::new(),
        deadline: LISTING,
        output: NAMES,
    });
    let done = done.ok().filter(|done| done.end == TaskEnd::Exited(0) && done.output.len() < NAMES)?;
    let names = done.output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let names = names.map(|name| PathBuf::from(OsString::from_vec(name.to_vec())));
    Some(names.filter(|name| !name.starts_with(".sanare")).collect())
}

/// Every file below a folder but what tools leave behind.
fn walked(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = folder.join(entry.file_name());
            if !entry.file_type()?.is_dir() {
                names.push(name);
            } else if !LEFT_BEHIND.iter().any(|left| entry.file_name() == *left)
                && !entry.path().join("pyvenv.cfg").exists()
            {
                open.push(name);
            }
        }
    }
    Ok(names)
}
