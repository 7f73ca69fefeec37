//! The stop switch: a file `STOP` beside the store, read before every act (C9).

use std::path::Path;

use crate::wire::home::stop_path;

/// Sets the switch.
///
/// # Errors
/// When the folder cannot be written.
pub fn stop(project_root: &Path) -> std::io::Result<()> {
    let path = stop_path(project_root);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, b"")
}

/// Lifts it; a switch that is not set is no error.
///
/// # Errors
/// When the file cannot be removed.
pub fn start(project_root: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(stop_path(project_root)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
