//! The stop switch: a file `STOP` beside the store, read before every act (C9).

use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use crate::wire::home::stop_path;

/// Sets the switch.
///
/// # Errors
/// When a folder cannot be written; then it does not hold for every program.
pub fn stop(project_root: &Path) -> Result<()> {
    for path in places(project_root) {
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        folder.and_then(|()| std::fs::write(&path, b"")).map_err(|error| at(&path, &error))?;
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
