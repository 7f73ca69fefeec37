//! The stop switch: a file `STOP` beside the store, read before every act (C9).

use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::{Path, PathBuf};

use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::port::{Clock as _, Store, StoreFault};
use sanare_core::redact::Redactor;
use sanare_core::service::Text;
use serde_json::{Value as Json, json};

use crate::wire::clock::SystemClock;
use crate::wire::home::stop_path;
use crate::wire::person;

/// Bytes of a switch's file that are read.
const WORDS: u64 = 4_096;

/// Sets the switch; its file says who did it and why.
///
/// # Errors
/// When a folder cannot be written; then it does not hold for every program.
pub fn stop(project_root: &Path, reason: &str) -> Result<()> {
    for path in places(project_root) {
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        folder.and_then(|()| std::fs::write(&path, said(reason))).map_err(|error| at(&path, &error))?;
    }
    Ok(())
}

/// Lifts it; a switch that is not set is no error.
///
/// # Errors
/// When the file cannot be removed.
pub fn start(project_root: &Path) -> Result<()> {
    for path in places(project_root) {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(at(&path, &error)),
            _ => {}
        }
    }
    Ok(())
}

/// Writes down that the switch of a project without services was set (`stopped`) or lifted (`started`), by this account.
///
/// # Errors
/// [`StoreFault`].
pub fn record(store: &dyn Store, step: &str, reason: &str) -> std::result::Result<(), StoreFault> {
    let clock = SystemClock::new();
    let payload = json!({ "application": Json::Null, "by": person::current().name, "reason": given(reason) });
    let payload = Redactor::standard().json(&payload);
    let entry = Entry {
        incident: Id::new("stp", clock.now(), clock.chance()),
        step: step.to_owned(),
        at: clock.now(),
        payload,
    };
    store.chain(&entry).map(drop)
}

fn given(reason: &str) -> Option<Text> {
    Some(Text::of(reason)).filter(|reason| !reason.is_empty())
}

/// What the file of a switch says: who sets it, and why.
pub(crate) fn said(reason: &str) -> String {
    format!("{}\n", json!({ "by": person::current().name, "reason": given(reason) }))
}

/// Who set a switch and why, as far as its file says so: one that was made by hand says nothing.
pub(crate) fn words(path: &Path) -> (Option<Text>, Option<Text>) {
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(WORDS).read_to_string(&mut text));
    let json: Json = read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default();
    let word = |name: &str| json[name].as_str().and_then(given);
    (word("by"), word("reason"))
}

/// Beside this account's store, and beside the project's own where that is another one: programs of the account that
/// may write it look there.
fn places(project_root: &Path) -> Vec<PathBuf> {
    let mut places = vec![stop_path(project_root)];
    let own = project_root.join(".sanare");
    if own.is_dir() && !places.contains(&own.join("STOP")) {
        places.push(own.join("STOP"));
    }
    places
}

pub(crate) fn at(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}
