//! Settings of a project: the files and variables, read and merged.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sanare_core::incident::{Mode, Rerun, Rules, Write};
use sanare_core::settings::{Origin, Settings, SettingsFile, Sources, Trouble};
use serde_json::Value as Json;

/// The effective settings of a project, with what the decorator gave on top.
///
/// # Errors
/// Everything that is wrong, at once; also a file that cannot be read, and two files in one folder.
pub fn settings(project_root: &Path, decorator: &[(String, Json)]) -> Result<Settings, Vec<Trouble>> {
    let mut sources = Sources { decorator: decorator.to_vec(), variables: variables(), ..Sources::default() };
    match std::env::var_os("SANARE_CONFIG") {
        Some(path) => sources.project = Some(read(Path::new(&path), false)?),
        None => {
            sources.project = project_file(project_root)?;
            sources.user = user_file()?;
        }
    }
    resolved(sources)
}

/// Our variables. One that is no Unicode is none of our constants and is left to whoever set it, unless its name is.
pub(crate) fn variables() -> Vec<(String, String)> {
    let ours = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| name.starts_with("SANARE_"))?;
        Some((name, value.to_string_lossy().into_owned()))
    });
    ours.collect()
}

/// How many results are kept: a failure asks several times for the same two.
const KEPT: usize = 8;

type Resolved = Result<Settings, Vec<Trouble>>;

/// What was resolved last, with all that it was made of.
static LAST: Mutex<Vec<(Sources, Resolved)>> = Mutex::new(Vec::new());

fn resolved(sources: Sources) -> Resolved {
    // A lock that another thread holds, perhaps since before a fork, is not waited for.
    if let Ok(last) = LAST.try_lock()
        && let Some((_, known)) = last.iter().find(|(of, _)| *of == sources)
    {
        return known.clone();
    }
    let settings = Settings::resolve(&sources);
    if let Ok(mut last) = LAST.try_lock() {
        last.truncate(KEPT - 1);
        last.insert(0, (sources, settings.clone()));
    }
    settings
}

/// The rules of an incident.
pub fn rules(settings: &Settings) -> Rules {
    Rules {
        mode: match settings.text("heal.mode") {
            "ask" => Mode::Ask,
            "dry_run" => Mode::DryRun,
            "observe" => Mode::Observe,
            "off" => Mode::Off,
            _ => Mode::Auto,
        },
        rerun: match settings.text("heal.rerun") {
            "always" => Rerun::Always,
            "never" => Rerun::Never,
            _ => Rerun::Safe,
        },
        write: if settings.text("heal.write") == "memory" { Write::Memory } else { Write::File },
        attempts: u32::try_from(settings.number("heal.attempts")).unwrap_or(1),
        deadline_ms: settings.number("heal.deadline"),
        automatic_tiers: settings.list("heal.drift.automatic_tiers"),
        accept_unisolated: settings.flag("heal.gates.accept_unisolated"),
        unverified: settings.text("heal.unverified") == "permit",
        unverified_refused: settings.text("heal.unverified") == "refuse",
        approval_expires_ms: settings.number("heal.approval_expires"),
    }
}

fn project_file(root: &Path) -> Result<Option<SettingsFile>, Vec<Trouble>> {
    let own = root.join("sanare.toml");
    let shared = root.join("pyproject.toml");
    let in_shared = match shared.is_file() {
        true => Some(read(&shared, true)?).filter(|file| file.text.contains("[tool.sanare")),
        false => None,
    };
    match (own.is_file(), in_shared) {
        (true, Some(_)) => Err(vec![trouble(&own, "settings stand here and in pyproject.toml; keep one")]),
        (true, None) => read(&own, false).map(Some),
        (false, shared) => Ok(shared),
    }
}

fn user_file() -> Result<Option<SettingsFile>, Vec<Trouble>> {
    match user_path().filter(|path| path.is_file()) {
        Some(path) => read(&path, false).map(Some),
        None => Ok(None),
    }
}

/// Where the user's own file is looked for.
pub fn user_path() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    let folder = match std::env::consts::OS {
        "windows" => std::env::var_os("APPDATA").map(PathBuf::from),
        "macos" => home().map(|home| home.join("Library/Application Support")),
        _ => std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| home().map(|home| home.join(".config"))),
    };
    folder.map(|folder| folder.join("sanare").join("sanare.toml"))
}

fn read(path: &Path, in_pyproject: bool) -> Result<SettingsFile, Vec<Trouble>> {
    match sanare_effects::regular_file::read_to_string(path) {
        Ok(text) => Ok(SettingsFile { path: path.display().to_string(), text, in_pyproject }),
        Err(error) => Err(vec![trouble(path, &format!("cannot be read: {error}"))]),
    }
}

fn trouble(path: &Path, message: &str) -> Trouble {
    let origin = Origin::File { path: path.display().to_string(), line: 1 };
    Trouble { origin, key: String::new(), message: message.to_owned(), hint: String::new() }
}
