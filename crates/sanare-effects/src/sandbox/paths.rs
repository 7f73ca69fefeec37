//! Which paths a shut-in process may read.

#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;

/// What every program needs: shared libraries, time zones, locales, random numbers, the shape of the machine.
const USUAL: [&str; 23] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib32",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/share/zoneinfo",
    "/usr/share/locale",
    "/usr/share/i18n",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/mime.types",
    "/etc/locale.alias",
    "/nix/store",
    "/dev/urandom",
    "/dev/random",
    "/dev/zero",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
    "/sys/kernel/mm/transparent_hugepage",
];

/// Paths outside the owner's code that every trial may read.
pub fn usual_reads() -> Vec<PathBuf> {
    USUAL.iter().map(PathBuf::from).filter(|path| path.exists()).collect()
}

/// The paths that are opened for a list of wishes. Missing ones are left out. A folder that holds the home folder, or
/// is it, is taken apart: its hidden entries (keys, tokens, settings) stay closed. The root of everything is never given.
#[cfg(target_os = "linux")]
pub(super) fn readable(wishes: &[PathBuf], home: Option<&Path>) -> Vec<PathBuf> {
    let home = home.and_then(|home| home.canonicalize().ok()).filter(|home| home.parent().is_some());
    let mut given = Vec::new();
    for wish in wishes {
        let Ok(real) = wish.canonicalize() else { continue };
        give(real, home.as_deref(), &mut given);
    }
    given.sort();
    given.dedup();
    given
}

#[cfg(target_os = "linux")]
fn give(path: PathBuf, home: Option<&Path>, given: &mut Vec<PathBuf>) {
    if path.parent().is_none() {
        return;
    }
    if !home.is_some_and(|home| home.starts_with(&path)) {
        given.push(path);
        return;
    }
    for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
        // A link may lead back into what is hidden.
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if !is_link && !entry.file_name().as_encoded_bytes().starts_with(b".") {
            give(entry.path(), home, given);
        }
    }
}
