//! `sanare bench CASES`: each case put to every configured proposer alone, through the same gates; exit 1 where a repair that
//! was accepted gives a wrong value.

use std::path::{Path, PathBuf};
use std::time::Instant;

use sanare::operations::bench::{Came, Line, Played, Used, settings_for, summed};
use serde_json::json;

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A case (`loader.py`, `old.*`, `new.*`), or a folder of cases.
    cases: PathBuf,
    /// Only this proposer.
    #[arg(long, value_parser = ["drift", "model"])]
    proposer: Option<String>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let cases = cases(&arguments.cases)?;
    let root = context.project_root()?;
    let settings = sanare::wire::settings::settings(&root, &[]).map_err(|troubles| {
        Exit::usage(troubles.iter().map(ToString::to_string).collect::<Vec<_>>().join("\nerror: "))
    })?;
    let no_model = settings.text("model.provider") == "none";
    let (written, in_pyproject) = written(context, &root)?;
    let wanted = |name: &&str| arguments.proposer.as_deref().is_none_or(|only| only == *name);
    let mut all = Vec::new();
    let mut skipped = None;
    for proposer in ["drift", "model"].into_iter().filter(|name| wanted(name)) {
        if proposer == "model" && no_model {
            skipped = Some("model: skipped, no provider is configured (`model.provider`)");
            continue;
        }
        let text = settings_for(&written, in_pyproject, &root, proposer).map_err(Exit::usage)?;
        for case in &cases {
            all.push(play(context, case, proposer, &text)?);
        }
    }
    let lines = summed(&all);
    let code = i32::from(lines.iter().any(|line| line.wrong > 0));
    if context.json {
        let value = json!({ "proposers": lines, "cases": all, "skipped": skipped });
        return Ok(Printed::with_code(pretty(&value), code));
    }
    let mut told: Vec<String> = lines.iter().flat_map(shown).collect();
    told.extend(skipped.map(str::to_owned));
    Ok(Printed::with_code(told.join("\n"), code))
}

/// The file that holds the project's settings; nothing where there is none.
fn written(context: &Context, root: &Path) -> Result<(String, bool), Exit> {
    let own = || Some(root.join("pyproject.toml")).filter(|path| path.is_file());
    let Some(path) = sanare::service::Setup::locate(context.config.as_deref(), root).or_else(own) else {
        return Ok((String::new(), false));
    };
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Exit::usage(format!("`{}` cannot be read: {error}", path.display())))?;
    Ok((text, path.file_name().is_some_and(|name| name == "pyproject.toml")))
}

fn cases(folder: &Path) -> Result<Vec<PathBuf>, Exit> {
    let is_case = |path: &Path| path.join("loader.py").is_file();
    if is_case(folder) {
        return Ok(vec![folder.to_path_buf()]);
    }
    let entries = std::fs::read_dir(folder)
        .map_err(|error| Exit::usage(format!("`{}` cannot be read: {error}", folder.display())))?;
    let mut all: Vec<PathBuf> =
        entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(|path| is_case(path)).collect();
    all.sort();
    if all.is_empty() {
        return Err(Exit::usage(format!("no case in `{}`", folder.display()))
            .hint("a case is a folder with `loader.py`, `old.*` and `new.*`"));
    }
    Ok(all)
}

/// Heals one case in a folder of its own, which is thrown away.
fn play(context: &Context, case: &Path, proposer: &str, settings: &str) -> Result<Played, Exit> {
    let work = Work::new()?;
    let (file, healed, home) = (work.0.join("settings.toml"), work.0.join("healed.py"), work.0.join("case"));
    std::fs::write(&file, settings)
        .map_err(|error| Exit::usage(format!("`{}` cannot be written: {error}", file.display())))?;
    let began = Instant::now();
    let given = [case, Path::new("--out"), &healed, Path::new("--work"), &home];
    let (code, said) = ask(context, "sanare._case", &given, &file)?;
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let name = case.file_name().map_or_else(|| case.display().to_string(), |name| name.to_string_lossy().into_owned());
    let last = said.trim().lines().last().unwrap_or_default().to_owned();
    let mut played = Played {
        case: name,
        proposer: proposer.to_owned(),
        came: match code {
            0 => Came::Healed,
            3 => Came::Refused,
            _ => Came::Failed,
        },
        compared: None,
        why: if code == 0 { String::new() } else { last },
        rejected: Vec::new(),
        usage: Used::default(),
        millis,
    };
    if code == 0 {
        let (judged, _) = ask(context, "sanare._bench", &[case, &healed], &file)?;
        played.compared = Some(judged != 3);
        match judged {
            0 | 3 => {}
            1 => played.came = Came::Wrong,
            _ => (played.came, played.why) = (Came::Failed, "the repair could not be compared".to_owned()),
        }
    }
    let path = sanare::wire::home::store_path(&home.join("project"));
    if path.exists() {
        let store = sanare::wire::home::open_existing(&path).map_err(Exit::store)?;
        if let Some(report) =
            sanare::operations::incidents::incidents(store.as_ref(), None, 1).map_err(Exit::store)?.first()
        {
            played.take(report);
        }
    }
    Ok(played)
}

/// Runs a module of the wheel under these settings; its exit code and what it said.
fn ask(context: &Context, module: &str, arguments: &[&Path], settings: &Path) -> Result<(i32, String), Exit> {
    let python = context.python();
    let mut command = std::process::Command::new(&python);
    let done = command.arg("-m").arg(module).args(arguments).env("SANARE_CONFIG", settings).output();
    let done = done.map_err(|error| {
        Exit::usage(format!("cannot start `{}`: {error}", python.display()))
            .hint("name a Python that has the sanare wheel in SANARE_PYTHON")
    })?;
    let said = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok((done.status.code().unwrap_or(1), said.concat()))
}

fn shown(line: &Line) -> Vec<String> {
    let not_compared = match line.not_compared {
        0 => String::new(),
        count => format!(" ({count} not compared)"),
    };
    let money = line
        .usage
        .money
        .map_or("unknown".to_owned(), |money| format!("{}.{:06}", money / 1_000_000, money % 1_000_000));
    let cost = match line.usage.calls {
        0 => "no call".to_owned(),
        calls => format!("{calls} calls, {} tokens, cost {money}", line.usage.tokens),
    };
    let mut lines = vec![format!(
        "{}: {} cases: {} healed{not_compared}, {} wrong, {} refused, {} failed; {cost}; {}.{} s",
        line.proposer,
        line.cases,
        line.healed,
        line.wrong,
        line.refused,
        line.failed,
        line.millis / 1_000,
        line.millis % 1_000 / 100
    )];
    lines.extend(line.rejected.iter().map(|(gate, count)| format!("  rejected by {gate}: {count}")));
    lines
}

/// A folder that is gone afterwards.
struct Work(PathBuf);

impl Work {
    fn new() -> Result<Self, Exit> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let name = format!("sanare-bench-{}-{}", std::process::id(), since.as_nanos());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path)
            .map_err(|error| Exit::usage(format!("cannot make the folder `{}`: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // What stays lies in the folder for temporary things.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
