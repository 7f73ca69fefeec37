//! Where things are: the root of the project, the target folder, the shared corpora if they lie beside it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The folders that the tasks work in.
pub struct Workshop {
    /// The project's root.
    pub root: PathBuf,
    /// Cargo's target folder; the venvs and wheels lie in it too.
    pub target: PathBuf,
}

impl Workshop {
    /// Finds the root from where this program was compiled, else from the working folder.
    pub fn find() -> anyhow::Result<Self> {
        let compiled = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf);
        let root = match compiled {
            Some(root) if root.join("Cargo.toml").is_file() => root,
            _ => std::env::current_dir().context("the working folder cannot be read")?,
        };
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(folder) if !folder.is_empty() => std::path::absolute(PathBuf::from(folder))?,
            _ => root.join("target"),
        };
        Ok(Self { root, target })
    }

    /// The folder of the corpora: `SANARE_SHARED`, else `../shared`; `None` where there is none.
    pub fn shared(&self) -> Option<PathBuf> {
        let folder = match std::env::var_os("SANARE_SHARED") {
            Some(folder) => PathBuf::from(folder),
            None => self.root.join("..").join("shared"),
        };
        folder.canonicalize().ok().filter(|folder| folder.is_dir())
    }
}
