//! The commands, one file each.

pub(crate) mod answer;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod detect;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod heal_case;
pub(crate) mod incident;
pub(crate) mod incidents;
pub(crate) mod init;
pub(crate) mod forget;
pub(crate) mod ledger;
pub(crate) mod migrate;
pub(crate) mod model;
pub(crate) mod observe;
pub(crate) mod policy;
pub(crate) mod propose;
pub(crate) mod redact;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod retry;
pub(crate) mod revert;
pub(crate) mod run_services;
pub(crate) mod services;
pub(crate) mod show;
pub(crate) mod silence;
pub(crate) mod simulate;
pub(crate) mod stop;
pub(crate) mod store;
pub(crate) mod target;
pub(crate) mod vet;

use std::path::{Path, PathBuf};

use sanare::core::port::Store;
use sanare::operations::show::Show;

use crate::output::Exit;

/// What every command may need.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) json: bool,
    pub(crate) project: Option<PathBuf>,
    pub(crate) config: Option<PathBuf>,
    pub(crate) python: Option<PathBuf>,
}

impl Context {
    /// The project's folder: the one given, else the nearest above the working folder, else the working folder.
    pub(crate) fn project_root(&self) -> Result<PathBuf, Exit> {
        if let Some(project) = &self.project {
            return match project.is_dir() {
                true => Ok(project.clone()),
                false => Err(Exit::usage(format!("no folder `{}`", project.display()))),
            };
        }
        let here = std::env::current_dir().map_err(|error| Exit::usage(format!("no working folder: {error}")))?;
        Ok(sanare::wire::home::project_of(&here))
    }

    /// The project's store, which must exist.
    pub(crate) fn store(&self) -> Result<Box<dyn Store>, Exit> {
        sanare::wire::home::open_existing(&self.store_path()?).map_err(Exit::store)
    }

    /// Its file, which is there.
    pub(crate) fn store_path(&self) -> Result<PathBuf, Exit> {
        let root = self.project_root()?;
        let path = sanare::wire::home::store_path(&root);
        let own = root.join(".sanare").join("store.db");
        if !path.exists() && own.exists() {
            // Another account's: a store of this account's own would be another one.
            let said = format!("the store cannot be used: {}: this account may not write it", own.display());
            return Err(Exit::store(said).hint("ask as the account that runs the program"));
        }
        if !path.exists() {
            return Err(Exit::not_found(format!("no store in `{}`: nothing was recorded here", root.display()))
                .hint("give the project with --project, or run `sanare demo` first"));
        }
        Ok(path)
    }

    /// The Python interpreter that has the wheel.
    pub(crate) fn python(&self) -> PathBuf {
        let named = || std::env::var_os("SANARE_PYTHON").map(PathBuf::from);
        self.python.clone().or_else(named).unwrap_or_else(|| PathBuf::from("python3"))
    }

    /// Runs a module of the wheel with these arguments and takes over its streams and exit code.
    pub(crate) fn run_python(&self, module: &str, arguments: &[&Path]) -> Result<i32, Exit> {
        let python = self.python();
        let status = std::process::Command::new(&python).arg("-m").arg(module).args(arguments).status();
        match status {
            Ok(status) => Ok(status.code().unwrap_or(1)),
            Err(error) => Err(Exit::usage(format!("cannot start `{}`: {error}", python.display()))
                .hint("name a Python that has the sanare wheel in SANARE_PYTHON")),
        }
    }
}

impl Context {
    /// The configuration of services.
    pub(crate) fn setup(&self) -> Result<sanare::service::Setup, Exit> {
        let root = self.project_root()?;
        sanare::service::Setup::find(self.config.as_deref(), &root).map_err(|troubles| check::wrong(&troubles))
    }

    /// The healer of that configuration, over its store.
    pub(crate) fn healer(&self) -> Result<sanare::service::Healer, Exit> {
        let root = self.project_root()?;
        sanare::service::Healer::from_config(self.config.as_deref(), &root).map_err(|error| match error {
            sanare::service::NotMadeHealer::Configuration(troubles) => check::wrong(&troubles),
            sanare::service::NotMadeHealer::Store(fault) => Exit::store(fault),
        })
    }

    /// The same where services are configured at all; `None` where they are not. A configuration that cannot be read
    /// is an error: services may be in it.
    pub(crate) fn healer_if_any(&self) -> Result<Option<sanare::service::Healer>, Exit> {
        let root = self.project_root()?;
        let Some(path) = sanare::service::Setup::locate(self.config.as_deref(), &root) else { return Ok(None) };
        let setup = sanare::service::Setup::read(&path).map_err(|troubles| check::wrong(&troubles))?;
        if setup.configuration.services.is_empty() { Ok(None) } else { self.healer().map(Some) }
    }

    /// Runs a module of the wheel with these arguments; its exit code and what it said.
    pub(crate) fn ask_python(&self, module: &str, arguments: &[&Path]) -> Result<(i32, String), Exit> {
        let python = self.python();
        match std::process::Command::new(&python).arg("-m").arg(module).args(arguments).output() {
            Ok(done) => {
                let said = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                Ok((done.status.code().unwrap_or(1), said.concat()))
            }
            Err(error) => Err(Exit::usage(format!("cannot start `{}`: {error}", python.display()))
                .hint("name a Python that has the sanare wheel in SANARE_PYTHON")),
        }
    }
}

/// A `Show` error as an exit. `right` is the verb for an incident of a service.
pub(crate) fn shown(error: Show, right: &str) -> Exit {
    match error {
        Show::Unknown(_) => Exit::not_found(error),
        Show::Ambiguous { .. } => Exit::usage(error).hint("give more of the id"),
        Show::OfService { ref id, .. } => {
            let hint = format!("for it there is `{right} {id}`");
            Exit::usage(error).hint(hint)
        }
        Show::Store(_) => Exit::store(error),
    }
}

/// JSON text, indented.
pub(crate) fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
