//! Interpreters, venvs under the target folder, and the wheel.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::shell;
use crate::workshop::Workshop;

/// The Python versions that the wheel is for.
pub const VERSIONS: [(u8, u8); 5] = [(3, 10), (3, 11), (3, 12), (3, 13), (3, 14)];

/// An interpreter that was found and answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// Major and minor version.
    pub version: (u8, u8),
    /// Where it is.
    pub path: PathBuf,
}

/// A venv under the target folder.
pub struct Venv {
    folder: PathBuf,
}

impl Venv {
    /// Makes the venv `name`, or takes the one that is there when interpreter and requirements are the same.
    pub fn ready(workshop: &Workshop, name: &str, base: &Interpreter, requirements: &str) -> anyhow::Result<Self> {
        let venv = Self { folder: workshop.target.join(name) };
        let stamp = venv.folder.join("xtask.stamp");
        let wanted = format!("{}\n{requirements}", base.path.display());
        if std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) && venv.program("python").is_file() {
            return Ok(venv);
        }
        if venv.folder.exists() {
            std::fs::remove_dir_all(&venv.folder)?;
        }
        std::fs::create_dir_all(&workshop.target)?;
        shell::run(shell::command(&base.path, &workshop.root).args(["-m", "venv"]).arg(&venv.folder))?;
        let list = venv.folder.join("requirements.txt");
        std::fs::write(&list, requirements)?;
        shell::run(venv.python(&workshop.root).args(["-m", "pip", "install", "--quiet", "-r"]).arg(&list))
            .context("pip could not install the tools of the venv")?;
        std::fs::write(&stamp, wanted)?;
        Ok(venv)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A program in it.
    pub fn program(&self, name: &str) -> PathBuf {
        if cfg!(windows) {
            self.folder.join("Scripts").join(format!("{name}.exe"))
        } else {
            self.folder.join("bin").join(name)
        }
    }

    /// A command that runs one of its programs with the venv first on the path.
    pub fn command(&self, name: &str, folder: &Path) -> Command {
        let program = self.program(name);
        let mut path = vec![program.parent().unwrap_or(&self.folder).to_path_buf()];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let mut command = shell::command(program, folder);
        command.env("VIRTUAL_ENV", &self.folder).env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        if let Ok(path) = std::env::join_paths(path) {
            command.env("PATH", path);
        }
        command
    }

    /// Its interpreter.
    pub fn python(&self, folder: &Path) -> Command {
        self.command("python", folder)
    }

    /// Installs a wheel in place of what was there, without looking at any index.
    pub fn install(&self, workshop: &Workshop, wheel: &Path) -> anyhow::Result<()> {
        let pip = ["-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", "--no-index"];
        shell::run(self.python(&workshop.root).args(pip).arg(wheel))
    }
}

/// The venv that everything runs in, with its tools.
pub fn main_venv(workshop: &Workshop) -> anyhow::Result<Venv> {
    let requirements = std::fs::read_to_string(workshop.root.join("xtask/requirements.txt"))?;
    Venv::ready(workshop, "venv", &main_interpreter(workshop)?, &requirements)
}

/// Builds the wheel with the `ci` profile and installs it into the main venv.
pub fn wheel(workshop: &Workshop) -> anyhow::Result<Venv> {
    let venv = main_venv(workshop)?;
    let folder = wheel_folder(workshop);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let mut maturin = venv.command("maturin", &workshop.root);
    maturin.args(["build", "--profile", "ci", "--compatibility", "linux", "--out"]).arg(&folder);
    maturin.env("CARGO_TARGET_DIR", &workshop.target).arg("--interpreter").arg(venv.program("python"));
    shell::run(&mut maturin).context("the wheel could not be built")?;
    venv.install(workshop, &built_wheel(workshop)?)?;
    Ok(venv)
}

/// The wheel that [`wheel`] built last.
pub fn built_wheel(workshop: &Workshop) -> anyhow::Result<PathBuf> {
    let folder = wheel_folder(workshop);
    let entries = std::fs::read_dir(&folder).with_context(|| format!("no wheel in {}", folder.display()))?;
    let mut wheels: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    wheels.retain(|path| path.extension().is_some_and(|extension| extension == "whl"));
    match wheels.as_slice() {
        [wheel] => Ok(wheel.clone()),
        found => bail!("{} wheels in {}, expected one", found.len(), folder.display()),
    }
}

/// The interpreter of the main venv: `python3` if it is new enough for every tool, else the newest that was found.
pub fn main_interpreter(workshop: &Workshop) -> anyhow::Result<Interpreter> {
    let usual = probe(workshop, Path::new("python3")).filter(|python| python.version >= (3, 11));
    let newest = || interpreters(workshop).into_iter().rfind(|python| python.version >= (3, 11));
    usual.or_else(newest).context("no Python 3.11 or newer found\nhint: install one, or put it on PATH as python3")
}

/// Every supported interpreter on the path or in pyenv's folder, one a version, in order.
pub fn interpreters(workshop: &Workshop) -> Vec<Interpreter> {
    let mut found = Vec::new();
    for (major, minor) in VERSIONS {
        let named = PathBuf::from(format!("python{major}.{minor}"));
        let candidates = pyenv(major, minor).into_iter().chain([named]);
        found.extend(candidates.filter_map(|path| probe(workshop, &path)).find(|it| it.version == (major, minor)));
    }
    found
}

fn pyenv(major: u8, minor: u8) -> Vec<PathBuf> {
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let root = root.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv")));
    let Some(entries) = root.and_then(|root| std::fs::read_dir(root.join("versions")).ok()) else {
        return Vec::new();
    };
    let prefix = format!("{major}.{minor}.");
    let fits = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
    let mut folders: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(fits).collect();
    folders.sort();
    folders.into_iter().map(|folder| folder.join("bin").join("python3")).collect()
}

fn probe(workshop: &Workshop, path: &Path) -> Option<Interpreter> {
    const ASK: &str = "import sys, venv; print(*sys.version_info[:2], sys.executable)";
    let answer = shell::answer(shell::command(path, &workshop.root).args(["-I", "-c", ASK]))?;
    let mut words = answer.splitn(3, ' ');
    let version = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(Interpreter { version, path: PathBuf::from(words.next()?) })
}

fn wheel_folder(workshop: &Workshop) -> PathBuf {
    workshop.target.join("wheels-xtask")
}
