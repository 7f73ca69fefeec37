//! The configuration as it stands in the owner's files, both halves of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sanare_core::policy::Policy;
use sanare_core::service::config::Configuration;
use sanare_core::service::{Agent, Application, ServiceStore};
use sanare_core::settings::{Origin, Settings, SettingsFile, Sources, Trouble};

use super::healer::NotMadeHealer;
use crate::wire;

/// What was read, and from where.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The folder that paths in it start from.
    pub folder: PathBuf,
    /// The file.
    pub file: PathBuf,
    /// The services.
    pub configuration: Configuration,
    /// Everything else.
    pub settings: Settings,
}

impl Setup {
    /// Reads a configuration: the file given, else the one that `SANARE_CONFIG` names, else `sanare.toml` in the folder,
    /// else the user's own.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub fn find(given: Option<&Path>, folder: &Path) -> Result<Self, Vec<Trouble>> {
        match Self::locate(given, folder) {
            Some(path) => Self::read(&path),
            None => {
                Err(vec![trouble(&folder.join("sanare.toml"), 1, "there is no such file", "`sanare init` writes one")])
            }
        }
    }

    /// Which file that is; `None` where there is none.
    pub fn locate(given: Option<&Path>, folder: &Path) -> Option<PathBuf> {
        let named = || std::env::var_os("SANARE_CONFIG").map(PathBuf::from);
        let in_folder = || Some(folder.join("sanare.toml")).filter(|path| path.is_file());
        let users = || wire::settings::user_path().filter(|path| path.is_file());
        given.map(Path::to_path_buf).or_else(named).or_else(in_folder).or_else(users)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub fn read(path: &Path) -> Result<Self, Vec<Trouble>> {
        Self::of(path, std::fs::read(path).as_deref())
    }

    /// Reads what a file held.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub(super) fn of(path: &Path, bytes: Result<&[u8], &std::io::Error>) -> Result<Self, Vec<Trouble>> {
        let bytes = bytes.map_err(|error| vec![trouble(path, 1, &format!("cannot be read: {error}"), "")])?;
        let text = String::from_utf8(bytes.to_vec()).map_err(|error| {
            let before = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            vec![trouble(path, line, "is not UTF-8", "save the file as UTF-8")]
        })?;
        let in_pyproject = path.file_name().is_some_and(|name| name == "pyproject.toml");
        let file = SettingsFile { path: path.display().to_string(), text, in_pyproject };
        let configuration = Configuration::read(&file);
        let variables = wire::settings::variables();
        let settings = Settings::resolve(&Sources { project: Some(file), variables, ..Sources::default() });
        match (configuration, settings) {
            (Ok(configuration), Ok(settings)) => {
                let parent = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let folder = std::path::absolute(parent).unwrap_or_else(|_| parent.to_path_buf());
                Ok(Self { folder, file: path.to_path_buf(), configuration, settings })
            }
            // A text that is no TOML is told once.
            (Err(troubles), Err(_)) if troubles.iter().any(|one| one.key.is_empty()) => Err(troubles),
            (configuration, settings) => {
                let mut all = configuration.err().unwrap_or_default();
                all.extend(settings.err().unwrap_or_default());
                Err(all)
            }
        }
    }

    /// The policy as its file is now.
    pub fn policy(&self, now: u64) -> Policy {
        wire::policy::policy(&self.folder, &self.settings, now)
    }

    /// A path of the configuration.
    pub fn path(&self, named: &str) -> PathBuf {
        self.folder.join(named)
    }

    /// Opens the store, making it if there is none, and the agent that counts its calls there.
    ///
    /// # Errors
    /// [`NotMadeHealer`].
    pub fn open(&self) -> Result<(Arc<dyn ServiceStore>, Arc<dyn Agent>), NotMadeHealer> {
        let store = self.open_store()?;
        let agent = super::agent::agent(self, store.clone()).map_err(|why| self.no_agent(&why))?;
        Ok((store, agent))
    }

    /// Opens the store, making it if there is none.
    ///
    /// # Errors
    /// [`NotMadeHealer::Store`].
    pub(crate) fn open_store(&self) -> Result<Arc<sanare_store::Sqlite>, NotMadeHealer> {
        Ok(Arc::new(sanare_store::Sqlite::open(&self.store())?))
    }

    /// Why there is no agent.
    pub(super) fn no_agent(&self, why: &str) -> NotMadeHealer {
        let mut one = trouble(&self.file, 1, why, "");
        one.key = "model".to_owned();
        NotMadeHealer::Configuration(vec![one])
    }

    /// Where the store is: as for code healing, so that lists, ledger and the stop switch are one.
    pub fn store(&self) -> PathBuf {
        match self.settings.text("store.path") {
            "" => self.folder.join(".sanare").join("store.db"),
            named => self.folder.join(named),
        }
    }
}

/// A name that no service of the configuration has: most likely a slip, and never one to act on.
#[derive(Debug, thiserror::Error)]
#[error("no service `{application}` in {}: there is {known}", .file.display())]
pub struct UnknownService {
    application: Application,
    file: PathBuf,
    known: String,
}

impl Setup {
    /// That the configuration has this service.
    ///
    /// # Errors
    /// [`UnknownService`], with those that it has.
    pub fn has(&self, application: &Application) -> Result<(), UnknownService> {
        let services = &self.configuration.services;
        if services.contains_key(application) {
            return Ok(());
        }
        let known: Vec<String> = services.keys().map(|one| format!("`{one}`")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(UnknownService { application: application.clone(), file: self.file.clone(), known })
    }
}

pub(super) fn trouble(path: &Path, line: usize, message: &str, hint: &str) -> Trouble {
    let origin = Origin::File { path: path.display().to_string(), line };
    Trouble { origin, key: String::new(), message: message.to_owned(), hint: hint.to_owned() }
}
