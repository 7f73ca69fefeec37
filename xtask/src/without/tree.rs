//! A second tree under `target/without`, so that no mechanism is ever missing from the one that people work in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::table::Mechanism;
use crate::shell;
use crate::workshop::Workshop;

/// The second tree and its builds.
pub struct Tree {
    root: PathBuf,
    builds: PathBuf,
}

/// A mechanism that is taken out until this is dropped.
pub struct TakenOut {
    path: PathBuf,
    before: String,
}

impl Tree {
    /// A copy of what git tracks or would track. A file that is equal is left alone, so that little is built again.
    pub fn of(workshop: &Workshop) -> anyhow::Result<Self> {
        let root = workshop.target.join("without").join("tree");
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let names = shell::output(shell::command("git", &workshop.root).args(list))?;
        let names: BTreeSet<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
        for name in &names {
            // A name that git still lists of a file that was removed.
            let Ok(bytes) = std::fs::read(workshop.root.join(name)) else { continue };
            let path = root.join(name);
            if std::fs::read(&path).ok().as_deref() != Some(bytes.as_slice()) {
                std::fs::create_dir_all(path.parent().unwrap_or(&root))?;
                std::fs::write(&path, bytes)?;
            }
        }
        remove_others(&root, &root, &workshop.root, &names)?;
        Ok(Self { root, builds: workshop.target.join("without").join("builds") })
    }

    /// Its root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Takes it out until the answer is dropped.
    pub fn without(&self, mechanism: &Mechanism) -> anyhow::Result<TakenOut> {
        let path = self.root.join(&mechanism.file);
        let before = std::fs::read_to_string(&path).with_context(|| mechanism.file.clone())?;
        let problem = mechanism.problem(Some(&before));
        ensure!(problem.is_none(), "\"{}\": {}", mechanism.says, problem.unwrap_or_default());
        std::fs::write(&path, before.replacen(&mechanism.text, &mechanism.instead, 1))?;
        Ok(TakenOut { path, before })
    }

    /// `cargo` in this tree, with builds of its own.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = shell::cargo(&self.root, arguments);
        command.env("CARGO_TARGET_DIR", &self.builds);
        command
    }

    /// Puts the extension that was just built beside the package. Removed first: a loaded one is never written over.
    pub fn place_extension(&self) -> anyhow::Result<()> {
        let place = self.root.join("python/sanare/_sanare.abi3.so");
        match std::fs::remove_file(&place) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let name = format!("{}_sanare{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        let built = self.builds.join("debug").join(&name);
        std::fs::copy(&built, &place).with_context(|| built.display().to_string())?;
        Ok(())
    }
}

impl Drop for TakenOut {
    fn drop(&mut self) {
        // The next run compares every file with the real one, so that a failure here is healed there.
        let _ = std::fs::write(&self.path, &self.before);
    }
}

/// Removes files that the real tree does not have.
fn remove_others(folder: &Path, root: &Path, real: &Path, names: &BTreeSet<&str>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let name = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        if entry.file_type()?.is_dir() {
            remove_others(&path, root, real, names)?;
        } else if !(names.contains(name.as_str()) && real.join(&name).exists()) {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}
