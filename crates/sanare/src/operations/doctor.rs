//! What works on this machine and what is missing.

use std::path::Path;
use std::sync::Arc;

use sanare_core::port::Store;
use serde::Serialize;

use crate::wire::clock::SystemClock;
use crate::wire::home;
use crate::wire::model::{Tested, setup_in, test_connection};

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub what: String,
    /// What was found.
    pub found: String,
    /// Whether it is as it should be.
    pub good: bool,
    /// What to do, if it is not.
    pub hint: String,
}

/// Looks at the project, its store, the sandbox and the interpreter.
pub fn doctor(project_root: &Path, python: &Path) -> Vec<Finding> {
    vec![
        project(project_root),
        store(project_root),
        switch(project_root),
        sandbox(),
        interpreter(python),
        model(project_root),
    ]
}

/// What the settings say of a model; nobody is asked.
fn model(root: &Path) -> Finding {
    match model_setup(root) {
        Ok(None) => finding("model", "none configured: nothing is sent, and drift is repaired without one", true, ""),
        Ok(Some(setup)) => {
            let found = match sanare_effects::model::key_of(&setup.key) {
                Ok(Some(_)) => "key set",
                Ok(None) => "no key needed",
                Err(fault) => return finding("model", fault.to_string(), false, KEY_HINT),
            };
            let whom = format!("{} {}, {found}", setup.provider.word(), setup.model);
            finding("model", whom, true, "")
        }
        Err(wrong) => finding("model", wrong, false, "see `sanare config show`"),
    }
}

const KEY_HINT: &str = "set the variable, or name another with `model.api_key_env`";

fn model_setup(root: &Path) -> Result<Option<sanare_core::model::setup::Setup>, String> {
    let settings = crate::wire::settings::settings(root, &[])
        .map_err(|troubles| troubles.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    setup_in(&settings, root)
}

/// Makes one real call and says what works (`sanare doctor --model`). Neither the key nor a word of the provider is in it.
pub fn ask_model(root: &Path) -> Finding {
    ask(model_setup(root), || home::open(root).map(Arc::from).map_err(|fault| fault.to_string()))
}

/// The same for the model that diagnoses services (`sanare check --ask-model`, S77).
pub fn ask_model_of_services(setup: &crate::service::Setup) -> Finding {
    let store = || setup.open_store().map(|store| store as Arc<dyn Store>).map_err(|error| error.to_string());
    ask(setup_in(&setup.settings, &setup.folder), store)
}

fn ask(
    setup: Result<Option<sanare_core::model::setup::Setup>, String>,
    store: impl FnOnce() -> Result<Arc<dyn Store>, String>,
) -> Finding {
    let setup = match setup {
        Ok(Some(setup)) => setup,
        Ok(None) => return finding("model call", "no provider is configured", false, "set `model.provider`"),
        Err(wrong) => return finding("model call", wrong, false, "see `sanare config show`"),
    };
    let store = match store() {
        Ok(store) => store,
        Err(fault) => return finding("model call", fault, false, "budgets are kept in the store"),
    };
    let mut port = sanare_effects::model::real();
    match test_connection(&setup, &*store, &SystemClock::new(), port.as_mut()) {
        Err(why) => finding("model call", why, false, "the settings under [model] say whom to ask"),
        Ok(Tested { usage, reads }) => {
            let line = usage.line();
            match reads {
                Ok(()) => finding("model call", format!("answered and was read; {line}"), true, ""),
                Err(why) => {
                    let found = format!("answered, but {why}; {line}");
                    finding("model call", found, false, "try another `model.json_mode`, or another model")
                }
            }
        }
    }
}

fn finding(what: &str, found: impl Into<String>, good: bool, hint: &str) -> Finding {
    let hint = if good { String::new() } else { hint.to_owned() };
    Finding { what: what.to_owned(), found: found.into(), good, hint }
}

fn project(root: &Path) -> Finding {
    finding("project", root.display().to_string(), root.is_dir(), "run inside a project, or give --project")
}

fn store(root: &Path) -> Finding {
    let path = home::store_path(root);
    if !path.exists() {
        return finding("store", "none yet; it is made at the first failure or remembered call", true, "");
    }
    match home::open_existing(&path).and_then(|store| store.verify()) {
        Ok(Ok(count)) => finding("store", format!("{count} records, the chain holds"), true, ""),
        Ok(Err(broken)) => {
            let found = format!("the chain breaks at record {}: {}", broken.seq, broken.what);
            finding("store", found, false, "keep the file for a look; move it away to begin a new one")
        }
        Err(fault) => {
            finding("store", fault.to_string(), false, "programs run on unhealed until the store can be used")
        }
    }
}

fn switch(root: &Path) -> Finding {
    let set = home::stop_path(root).exists();
    let found = if set { "set: nothing is repaired" } else { "not set" };
    finding("stop switch", found, !set, "`sanare start` lifts it")
}

fn sandbox() -> Finding {
    let isolation = sanare_effects::sandbox::available();
    let good = isolation.missing.is_empty();
    let found = match good {
        true => format!("Landlock ABI {}, seccomp, limits", isolation.landlock_abi),
        false => {
            format!("missing: {}", isolation.missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
    };
    finding("sandbox", found, good, "trials are skipped without it, and a person is asked before any repair")
}

fn interpreter(python: &Path) -> Finding {
    let asked = std::process::Command::new(python)
        .args(["-c", "import sys, sanare; print(sys.version.split()[0], sanare.__version__)"])
        .output();
    match asked {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            let (version, wheel) = text.trim().split_once(' ').unwrap_or((text.trim(), "?"));
            finding("python", format!("{} {version}, sanare {wheel}", python.display()), true, "")
        }
        _ => finding(
            "python",
            format!("{} cannot import sanare", python.display()),
            false,
            "install the wheel there, or set SANARE_PYTHON",
        ),
    }
}
