//! Patches as files, with a record beside them for programs (C130, C131). Nothing is applied.

use std::path::{Component, Path, PathBuf};

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::port::{Clock, Store, StoreFault};
use sanare_core::redact::Redactor;
use serde_json::{Value as Json, json};

use crate::operations::show::{self, Show};
use crate::report::Report;
use crate::wire::clock::SystemClock;
use crate::wire::target::unified;

/// Why there is no patch.
#[derive(Debug, thiserror::Error)]
pub enum SavePatch {
    /// No such incident.
    #[error(transparent)]
    Show(#[from] Show),
    /// The incident has no candidate.
    #[error("incident `{0}` has no candidate")]
    NoCandidate(String),
    /// The file is not one of the project.
    #[error("`{0}` is no file of the project")]
    Outside(String),
    /// The file is not UTF-8 text.
    #[error("`{0}` is not UTF-8 text")]
    NotText(String),
    /// The new text is the old one.
    #[error("the text is what `{0}` holds already")]
    Same(String),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// Where the two files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The patch, as `git apply` takes it.
    pub patch: PathBuf,
    /// The record beside it.
    pub sidecar: PathBuf,
}

/// Writes the patch of an incident's last candidate into a folder.
///
/// # Errors
/// [`SavePatch`].
pub fn of_incident(store: &dyn Store, root: &Path, folder: &Path, given: &str) -> Result<Saved, SavePatch> {
    let id = show::find(store, given)?;
    let records = store.records(&id)?;
    let report = Report::from_records(&id, &records);
    if report.diff.is_empty() {
        return Err(SavePatch::NoCandidate(id.to_string()));
    }
    let checked = records.iter().rev().find(|record| record.step == "checked").map(|record| record.json());
    let binding = checked.map(|checked| checked["binding"].clone()).unwrap_or_default();
    write_both(
        folder,
        &id,
        &report.diff,
        &json!({
            "format": 1,
            "incident": report.id,
            "fingerprint": report.fingerprint,
            "at": report.created_at,
            "path": report.path,
            "function": report.function,
            "language": "python",
            "base_sha256": binding["before"],
            "candidate_sha256": binding["after"],
            "git_head": git_head(root),
            "proposer": report.proposer,
            "tier": report.tier,
            "gates": report.gates,
            "unverified": report.unverified,
            "approval": report.approval,
            "reason": report.changes.join("; "),
            "version": env!("CARGO_PKG_VERSION"),
        }),
    )
}

/// Makes a patch for any UTF-8 text file of the project.
///
/// # Errors
/// [`SavePatch`]; the file itself is never written.
pub fn save_patch(root: &Path, folder: &Path, path: &Path, new_text: &str, reason: &str) -> Result<Saved, SavePatch> {
    let root = root.canonicalize()?;
    let shown = path.display().to_string();
    let real = root.join(path).canonicalize().map_err(|_| SavePatch::Outside(shown.clone()))?;
    let inside = real.strip_prefix(&root).map_err(|_| SavePatch::Outside(shown.clone()))?;
    if !inside.components().all(|part| matches!(part, Component::Normal(_))) || !real.is_file() {
        return Err(SavePatch::Outside(shown));
    }
    let relative: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let relative = relative.join("/");
    let old = String::from_utf8(std::fs::read(&real)?).map_err(|_| SavePatch::NotText(shown.clone()))?;
    if old == new_text {
        return Err(SavePatch::Same(shown));
    }
    let clock = SystemClock::new();
    let id = Id::new("patch", clock.now(), clock.chance());
    let language = real.extension().map(|extension| extension.to_string_lossy().into_owned()).unwrap_or_default();
    write_both(
        folder,
        &id,
        &unified(&old, new_text, &relative),
        &json!({
            "format": 1,
            "incident": null,
            "at": clock.now(),
            "path": relative,
            "function": null,
            "language": language,
            "base_sha256": Digest::of(old.as_bytes()),
            "candidate_sha256": Digest::of(new_text.as_bytes()),
            "git_head": git_head(&root),
            "proposer": "owner",
            "reason": Redactor::standard().text(reason).into_inner(),
            "version": env!("CARGO_PKG_VERSION"),
        }),
    )
}

fn write_both(folder: &Path, id: &Id, patch: &str, sidecar: &Json) -> Result<Saved, SavePatch> {
    std::fs::create_dir_all(folder)?;
    let saved = Saved { patch: folder.join(format!("{id}.patch")), sidecar: folder.join(format!("{id}.json")) };
    std::fs::write(&saved.patch, patch)?;
    std::fs::write(&saved.sidecar, serde_json::to_string_pretty(sidecar).unwrap_or_default() + "\n")?;
    Ok(saved)
}

/// The commit that the work tree stands on, read without running git; `null` where it cannot be told.
fn git_head(root: &Path) -> Json {
    let git = root.join(".git");
    let head = std::fs::read_to_string(git.join("HEAD")).ok();
    let commit = head.as_deref().map(str::trim).and_then(|head| match head.strip_prefix("ref: ") {
        Some(reference) => std::fs::read_to_string(git.join(reference)).ok().map(|text| text.trim().to_owned()),
        None => Some(head.to_owned()),
    });
    commit.map_or(Json::Null, Json::from)
}
