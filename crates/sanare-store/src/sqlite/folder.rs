//! The private folder: 0700 where we make it, the file 0600 always.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

use sanare_core::port::StoreFault;

/// Makes folder and file if they are not there. An existing folder keeps its mode: it may be the owner's own.
pub(super) fn make(path: &Path) -> Result<(), StoreFault> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        private_folder(folder).map_err(|error| unusable(folder, &error))?;
    }
    private_file(path).map_err(|error| unusable(path, &error))
}

fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    // So that nobody commits the store by mistake.
    fs::write(folder.join(".gitignore"), "*\n")
}

/// A file that is there is not opened: closing it would take the locks of a store away that this process has open already.
fn private_file(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made.map(drop),
    }
    let about = match fs::metadata(path) {
        // A link to a file that is not there yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return options.create_new(false).create(true).truncate(false).open(path).map(drop);
        }
        about => about?,
    };
    if !about.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    #[cfg(unix)]
    close_to_others(path, &about)?;
    Ok(())
}

#[cfg(unix)]
fn close_to_others(path: &Path, about: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = about.permissions().mode();
    if mode & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700))?;
    }
    Ok(())
}

fn unusable(path: &Path, error: &io::Error) -> StoreFault {
    if error.kind() == io::ErrorKind::StorageFull {
        return StoreFault::DiskFull;
    }
    StoreFault::Unusable(format!("{}: {error}", path.display()))
}
