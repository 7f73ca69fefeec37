//! What works on this machine and what is missing.

use std::path::Path;

use serde::Serialize;

use crate::wire::home;

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
    vec![project(project_root), store(project_root), switch(project_root), sandbox(), interpreter(python)]
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
