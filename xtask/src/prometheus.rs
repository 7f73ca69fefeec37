//! The real Prometheus for the tests that pull from it: the one that is there, else Debian's package, unpacked under the
//! target folder. Nothing is installed, and no rights are needed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::shell;
use crate::workshop::Workshop;

/// How long a download may take before the tests run without it.
const PATIENCE: Duration = Duration::from_secs(300);
/// By this the tests are told where it is.
pub const VARIABLE: &str = "PROMETHEUS_PROGRAM";

/// The program.
///
/// # Errors
/// Why there is none.
pub fn program(workshop: &Workshop) -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        return Ok(PathBuf::from(named));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    if let Some(found) = std::env::split_paths(&path).map(|one| one.join("prometheus")).find(|file| file.is_file()) {
        return Ok(found);
    }
    let folder = workshop.target.join("prometheus");
    let unpacked = folder.join("usr/bin/prometheus");
    if !unpacked.is_file() {
        fetch(&folder)?;
    }
    if shell::answer(shell::command(&unpacked, &folder).arg("--version")).is_none() {
        bail!("`{}` does not run", unpacked.display());
    }
    Ok(unpacked)
}

/// Downloads Debian's package and unpacks it. Lists and archives lie in the folder too: the system's own are not touched.
fn fetch(folder: &Path) -> anyhow::Result<()> {
    for name in ["lists/partial", "archives/partial", "tmp"] {
        let one = folder.join(name);
        std::fs::create_dir_all(&one).with_context(|| format!("`{}` cannot be made", one.display()))?;
    }
    apt(folder, &["update"])?;
    apt(folder, &["download", "prometheus"])?;
    let packages = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let package = packages.filter(|path| path.extension().is_some_and(|end| end == "deb")).max();
    let package = package.context("apt-get downloaded no package")?;
    shell::run(shell::command("dpkg-deb", folder).arg("-x").arg(&package).arg("."))?;
    // What is unpacked is kept for later runs; the rest is done with.
    for name in ["lists", "archives", "tmp"] {
        let _ = std::fs::remove_dir_all(folder.join(name));
    }
    let _ = std::fs::remove_file(&package);
    Ok(())
}

fn apt(folder: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let place = |name: &str| folder.join(name).display().to_string();
    let mut command = shell::command("timeout", folder);
    command.arg(PATIENCE.as_secs().to_string()).args(["apt-get", "-qq"]);
    for option in [
        format!("Dir::State::lists={}", place("lists")),
        format!("Dir::Cache::archives={}", place("archives")),
        "Dir::Cache::pkgcache=".to_owned(),
        "Dir::Cache::srcpkgcache=".to_owned(),
        // Where the caller is the machine's owner, apt would go on as somebody who cannot write here.
        "APT::Sandbox::User=root".to_owned(),
        "Acquire::Retries=1".to_owned(),
        "Acquire::http::Timeout=20".to_owned(),
    ] {
        command.arg("-o").arg(option);
    }
    shell::run(command.args(arguments).env("TMPDIR", folder.join("tmp")))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{VARIABLE, program};
    use crate::workshop::Workshop;

    #[test]
    fn what_was_unpacked_before_is_taken_if_it_runs() {
        if std::env::var_os(VARIABLE).is_some() {
            return;
        }
        let target = std::env::temp_dir().join(format!("sanare-prometheus-{}", std::process::id()));
        let file = target.join("prometheus/usr/bin/prometheus");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        let workshop = Workshop { root: target.clone(), target: target.clone() };
        let write = |text: &str| {
            std::fs::write(&file, text).expect("written");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("set");
        };
        write("#!/bin/sh\nexit 0\n");
        let found = program(&workshop);
        write("#!/bin/sh\nexit 1\n");
        let broken = program(&workshop);
        std::fs::remove_dir_all(&target).expect("removed");
        // One on the path comes first.
        let found = found.expect("a program");
        assert!(found == file || !found.starts_with(&target), "{}", found.display());
        assert!(!found.starts_with(&target) || broken.is_err());
    }
}
