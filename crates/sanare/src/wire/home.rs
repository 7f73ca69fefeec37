//! Where the store of a project lives.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sanare_core::hash::Digest;
use sanare_core::port::{Store, StoreFault};
use sanare_effects::seal::UserKey;

/// The store of a project: the file that settings name; else `.sanare/store.db` in the project; in a folder of the user's
/// own state where the project cannot be written (C22).
pub fn store_path(project_root: &Path) -> PathBuf {
    let settings = super::settings::settings(project_root, &[]);
    // Broken settings repair nothing (C17); that is recorded where it would be without them.
    let named = settings.map(|settings| settings.text("store.path").to_owned()).unwrap_or_default();
    if !named.is_empty() {
        return project_root.join(named);
    }
    let own = project_root.join(".sanare").join("store.db");
    if sanare_effects::apply::can_be_kept(&own) {
        return own;
    }
    state_folder().map_or(own, |state| {
        state.join(Digest::of(project_root.as_os_str().as_encoded_bytes()).short()).join("store.db")
    })
}

/// The stop switch of a project: a file `STOP` beside the store.
pub fn stop_path(project_root: &Path) -> PathBuf {
    store_path(project_root).with_file_name("STOP")
}

/// Where programs keep state of this user.
fn state_folder() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let folder = match std::env::consts::OS {
        "windows" => std::env::var_os("LOCALAPPDATA").map(PathBuf::from),
        "macos" => home().map(|home| home.join("Library/Application Support")),
        _ => std::env::var_os("XDG_STATE_HOME")
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
            .or_else(|| home().map(|home| home.join(".local/state"))),
    };
    folder.map(|folder| folder.join("sanare"))
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
    opened(path, None)
}

fn opened(path: &Path, project_root: Option<&Path>) -> Result<Box<dyn Store>, StoreFault> {
    let key = UserKey::new(key_path(), project_root);
    Ok(Box::new(sanare_store::Sqlite::open(path)?.sealed_by(Arc::new(key))))
}

/// The key under which the stores of this user seal what may lie on no disk as it is; made when it is first needed.
pub fn key_path() -> Option<PathBuf> {
    state_folder().map(|state| state.join("key"))
}

/// Opens the store of a project, making it (private, 0700) if there is none.
///
/// # Errors
/// [`StoreFault`].
pub fn open(project_root: &Path) -> Result<Box<dyn Store>, StoreFault> {
    opened(&store_path(project_root), Some(project_root))
}
