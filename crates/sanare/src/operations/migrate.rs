//! Coming from healing-agent: its Python settings read as data, its decorators replaced, every difference told (C23).

use std::path::{Path, PathBuf};

use sanare_core::hash::Digest;
use sanare_core::settings::former::{MEMBERS, Translation, option, translate};
use sanare_effects::apply::{ApplyError, write_atomically};
use sanare_effects::private_file::write_new;
use sanare_effects::source_file::SourceFile;
use sanare_source::literal::assignments;
use sanare_source::rename::{Renaming, rename};
use serde::Serialize;

use crate::wire::target::unified;

/// The name of the former settings file.
pub const FORMER_FILE: &str = "healing_agent_config.py";
const FORMER_PACKAGE: &str = "healing_agent";
/// Files looked at, at most.
const FILES: usize = 20_000;
const DEPTH: usize = 12;
/// Folders that hold no code of the project's own.
const SKIPPED: [&str; 5] = ["__pycache__", "node_modules", "site-packages", "venv", "build"];

/// A migration, ready to be shown or written.
#[derive(Debug, Serialize)]
pub struct Migration {
    /// The folder that `sanare.toml` belongs into.
    pub folder: PathBuf,
    /// The text of `sanare.toml`.
    pub toml: String,
    /// What means something else here, or nothing.
    pub differences: Vec<String>,
    /// What could not be read without running it.
    pub not_understood: Vec<String>,
    /// Files that use the former package.
    pub files: Vec<Patched>,
}

/// One file with its imports and decorators replaced.
#[derive(Debug, Serialize)]
pub struct Patched {
    /// Where it is.
    pub path: PathBuf,
    /// What changes.
    pub diff: String,
    /// Its bytes afterwards.
    #[serde(skip)]
    pub after: Vec<u8>,
    /// Hash of its bytes now.
    #[serde(skip)]
    pub before: Digest,
}

/// Why there is no migration.
#[derive(Debug, thiserror::Error)]
pub enum Migrate {
    /// Nothing to read there.
    #[error("there is no `{FORMER_FILE}` at `{0}`")]
    Missing(PathBuf),
    /// It cannot be read.
    #[error("`{0}` cannot be read: {1}")]
    Unreadable(PathBuf, String),
    /// It is not Python.
    #[error("`{0}` is not Python: line {1}")]
    Broken(PathBuf, usize),
    /// It would be written over.
    #[error("`{0}` is there already; nothing was written")]
    Exists(PathBuf),
    /// A file could not be written.
    #[error("`{0}` could not be written: {1}")]
    Write(PathBuf, String),
}

/// Reads the settings file at `path`, or in the folder `path`, and the sources below `sources`. Runs nothing, changes
/// nothing.
///
/// # Errors
/// [`Migrate`].
pub fn migrate(path: &Path, sources: &Path) -> Result<Migration, Migrate> {
    let file = if path.is_dir() { path.join(FORMER_FILE) } else { path.to_owned() };
    if !file.is_file() {
        return Err(Migrate::Missing(path.to_owned()));
    }
    let read = SourceFile::read(&file).map_err(|error| Migrate::Unreadable(file.clone(), error.to_string()))?;
    let assigned = assignments(read.text_lf()).map_err(|broken| Migrate::Broken(file.clone(), broken.line))?;
    let Translation { not_understood, mut differences, .. } = translate(&assigned);
    let toml = translate(&assigned).to_toml();
    let mut files = Vec::new();
    let mut found = Vec::new();
    python_files(sources, 0, &mut found);
    for path in found.into_iter().filter(|path| *path != file) {
        if let Some((patched, left)) = patched(&path, sources) {
            let shown = path.strip_prefix(sources).unwrap_or(&path).display().to_string();
            differences.extend(left.into_iter().map(|(line, what)| format!("{shown}:{line}: {what}")));
            files.push(patched);
        }
    }
    Ok(Migration { folder: sources.to_owned(), toml, differences, not_understood, files })
}

/// Writes `sanare.toml`, which must not be there, and the patched files, each only if it is as it was.
///
/// # Errors
/// [`Migrate`]; files written before that stay written.
pub fn write(migration: &Migration) -> Result<(), Migrate> {
    let target = migration.folder.join("sanare.toml");
    if target.exists() {
        return Err(Migrate::Exists(target));
    }
    write_new(&target, migration.toml.as_bytes()).map_err(|error| Migrate::Write(target, error.to_string()))?;
    for file in &migration.files {
        match write_atomically(&file.path, &file.before, &file.after) {
            Ok(_) | Err(ApplyError::NotDurable(_)) => {}
            Err(error) => return Err(Migrate::Write(file.path.clone(), error.to_string())),
        }
    }
    Ok(())
}

fn patched(path: &Path, root: &Path) -> Option<(Patched, Vec<(usize, String)>)> {
    let file = SourceFile::read(path).ok()?;
    let old = file.text_lf();
    if !old.contains(FORMER_PACKAGE) {
        return None;
    }
    let renaming = Renaming { old: FORMER_PACKAGE, new: "sanare", members: &MEMBERS, option };
    let (new, left) = rename(old, &renaming).ok().flatten()?;
    let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
    let diff = unified(old, &new, &shown);
    let after = file.replace(0, old.len(), &new).ok()?;
    let before = Digest::of(file.bytes());
    Some((Patched { path: path.to_owned(), diff, after, before }, left))
}

fn python_files(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else { continue };
        if found.len() >= FILES || name.starts_with('.') {
            continue;
        }
        if kind.is_file() && name.ends_with(".py") {
            found.push(entry.path());
        } else if kind.is_dir() && depth < DEPTH && !SKIPPED.contains(&name.as_str()) {
            python_files(&entry.path(), depth + 1, found);
        }
    }
}
