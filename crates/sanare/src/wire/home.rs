//! Where the store of a project lives.

use std::path::{Path, PathBuf};

use sanare_core::port::{Store, StoreFault};

/// The store of a project: `.sanare/store.db` in it.
pub fn store_path(project_root: &Path) -> PathBuf {
    project_root.join(".sanare").join("store.db")
}

/// The stop switch of a project: a file `STOP` beside the store.
pub fn stop_path(project_root: &Path) -> PathBuf {
    project_root.join(".sanare").join("STOP")
}

/// The project that a folder belongs to (C14).
pub fn project_of(folder: &Path) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    sanare_effects::project::Project::of_folder(folder, home.as_deref()).root
}

/// Opens a store that exists.
///
/// # Errors
/// [`StoreFault`].
pub fn open_existing(path: &Path) -> Result<Box<dyn Store>, StoreFault> {
    Ok(Box::new(sanare_store::Sqlite::open(path)?))
}

/// Opens the store of a project, making it (private, 0700) if there is none.
///
/// # Errors
/// [`StoreFault`].
pub fn open(project_root: &Path) -> Result<Box<dyn Store>, StoreFault> {
    open_existing(&store_path(project_root))
}
