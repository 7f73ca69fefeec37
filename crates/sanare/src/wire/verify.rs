//! Gate 7: the owner's commands on a copy of the work tree, shut in (C87, C94, C95).

#[cfg(unix)]
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
#[cfg(unix)]
use std::time::Instant;

use sanare_core::port::target::Placed;
use sanare_core::port::{Verified, Verifier};
use sanare_core::redact::Redacted;
use sanare_core::settings::Settings;
use serde_json::Value as Json;

/// The owner's commands and what they may have.
#[derive(Debug)]
pub struct Commands {
    /// Argument lists, in order.
    pub commands: Vec<Vec<String>>,
    /// The project's folder.
    pub root: PathBuf,
    /// The target's file, from there.
    pub path: PathBuf,
    /// What the evidence file holds, `original` and `candidate_path` left out.
    pub evidence: Redacted<Json>,
    /// How long each may take.
    pub time: Duration,
    /// Whether they may use the network.
    pub network: bool,
    /// Bytes of the copy.
    pub copy: u64,
    /// Whether commands without the whole sandbox count.
    pub accept_unisolated: bool,
    /// Folders of the running interpreter, which commands may read too.
    pub readable: Vec<PathBuf>,
}

impl Commands {
    /// The commands of these settings.
    pub fn of(settings: &Settings, root: &Path, path: &Path, evidence: Redacted<Json>) -> Self {
        let commands = settings.get("heal.verify").as_array().into_iter().flatten();
        let texts = |command: &Json| -> Vec<String> {
            command.as_array().into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
        };
        Self {
            commands: commands.map(texts).collect(),
            root: root.to_owned(),
            path: path.strip_prefix(root).unwrap_or(path).to_owned(),
            evidence,
            time: Duration::from_millis(settings.number("heal.gates.verify_time")),
            network: settings.flag("heal.gates.verify_network"),
            copy: settings.number("heal.gates.verify_copy"),
            accept_unisolated: settings.flag("heal.gates.accept_unisolated"),
            readable: Vec::new(),
        }
    }
}

/// No command at all.
#[derive(Debug)]
pub struct NoCommands;

impl Verifier for NoCommands {
    fn verify(&mut self, _placed: &Placed, _time_left_ms: u64, _gone: &mut dyn FnMut() -> bool) -> Verified {
        Verified::None
    }
}

#[cfg(not(unix))]
impl Verifier for Commands {
    fn verify(&mut self, _placed: &Placed, _time_left_ms: u64, _gone: &mut dyn FnMut() -> bool) -> Verified {
        use sanare_core::gate::{Check, Gate};
        match self.commands.is_empty() {
            true => Verified::None,
            false => Verified::Checks(vec![Check::skipped(Gate::Verify, "verify", "no isolation: fork")]),
        }
    }
}

#[cfg(unix)]
impl Verifier for Commands {
    fn verify(&mut self, placed: &Placed, time_left_ms: u64, gone: &mut dyn FnMut() -> bool) -> Verified {
        if self.commands.is_empty() {
            return Verified::None;
        }
        let end = Instant::now() + Duration::from_millis(time_left_ms);
        run::verify(self, placed, end, gone)
    }
}

/// `PYTHONPATH` with what lies in the project moved to the copy.
#[cfg(unix)]
fn moved(path: &std::ffi::OsStr, root: &Path, tree: &Path) -> OsString {
    let here = std::env::current_dir().unwrap_or_default();
    let entries = std::env::split_paths(path).filter(|entry| !entry.as_os_str().is_empty()).map(|entry| {
        let entry = here.join(entry);
        let real = entry.canonicalize().unwrap_or(entry);
        match real.strip_prefix(root) {
            Ok(inside) => tree.join(inside),
            Err(_) => real,
        }
    });
    std::env::join_paths(entries).unwrap_or_default()
}

#[cfg(unix)]
mod run {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use sanare_core::gate::{Check, Gate};
    use sanare_core::hash::Digest;
    use sanare_core::port::Verified;
    use sanare_core::port::target::Placed;
    use sanare_core::redact::Redactor;
    use sanare_effects::sandbox::{Prepared, ShutIn, available, usual_reads};
    use sanare_effects::task::{Done, Task, TaskEnd, run_while_wanted};
    use sanare_effects::work_tree::{CannotCopy, WorkCopy};

    use super::{Commands, moved};
    use crate::wire::target::exchange;

    /// How much of each output is looked at.
    const OUTPUT: usize = 4 * 1024;
    /// A file that one command may write.
    const FILE: u64 = 1 << 30;
    /// Variables that a command sees as the process has them.
    const KEPT: [&str; 4] = ["PATH", "LANG", "TZ", "VIRTUAL_ENV"];

    pub(super) fn verify(
        commands: &Commands,
        placed: &Placed,
        end: Instant,
        gone: &mut dyn FnMut() -> bool,
    ) -> Verified {
        let skipped = |why: String| Verified::Checks(vec![Check::skipped(Gate::Verify, "verify", why)]);
        let copy = match Copy::make(commands, placed, true) {
            Ok(copy) => copy,
            Err(NoCopy::Skip(why)) => return skipped(why),
        };
        let mut checks = Vec::new();
        for (number, command) in commands.commands.iter().enumerate() {
            let began = Instant::now();
            let why = match copy.run(commands, command, end, gone) {
                Ran::Accepted => {
                    let mut check = Check::passed(Gate::Verify, "verify");
                    check.reason = shown(command);
                    check.micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
                    checks.push(check);
                    continue;
                }
                Ran::CannotStart(why) => return Verified::CannotStart(why),
                Ran::Rejected(why) => format!("{}: {why}", shown(command)),
            };
            drop(copy);
            checks.push(Check::failed(Gate::Verify, "verify", why.clone()));
            match baseline(commands, placed, number, end, gone) {
                Baseline::Good => checks.push(Check::passed(Gate::Verify, "baseline")),
                Baseline::Unknown(why) => checks.push(Check::skipped(Gate::Verify, "baseline", why)),
                // Red before: it says nothing about the candidate, and nothing for it.
                Baseline::Red => {
                    let why = format!("already failing without the change: {why}");
                    return Verified::Checks(vec![Check::skipped(Gate::Verify, "baseline", why)]);
                }
            }
            break;
        }
        Verified::Checks(checks)
    }

    enum Baseline {
        Good,
        Red,
        Unknown(String),
    }

    /// The same commands without the candidate, up to the one that rejected.
    fn baseline(
        commands: &Commands,
        placed: &Placed,
        upto: usize,
        end: Instant,
        gone: &mut dyn FnMut() -> bool,
    ) -> Baseline {
        if Instant::now() >= end {
            return Baseline::Unknown("no time was left to run it without the change".to_owned());
        }
        let copy = match Copy::make(commands, placed, false) {
            Ok(copy) => copy,
            Err(NoCopy::Skip(why)) => return Baseline::Unknown(why),
        };
        for command in commands.commands.iter().take(upto + 1) {
            match copy.run(commands, command, end, gone) {
                Ran::Accepted => {}
                Ran::Rejected(_) if Instant::now() >= end => {
                    return Baseline::Unknown("no time was left to run it without the change".to_owned());
                }
                Ran::Rejected(_) => return Baseline::Red,
                Ran::CannotStart(why) => return Baseline::Unknown(why),
            }
        }
        Baseline::Good
    }

    struct Copy {
        work: WorkCopy,
        fences: Arc<Prepared>,
        environment: Vec<(OsString, OsString)>,
    }

    enum NoCopy {
        Skip(String),
    }

    enum Ran {
        Accepted,
        Rejected(String),
        CannotStart(String),
    }

    impl Copy {
        fn make(commands: &Commands, placed: &Placed, with_candidate: bool) -> Result<Self, NoCopy> {
            let skip = |why: String| NoCopy::Skip(why);
            let work =
                WorkCopy::make(&commands.root, &[&commands.path], commands.copy).map_err(|error| match error {
                    CannotCopy::TooLarge(limit) => {
                        skip(format!("the work tree is larger than {limit} bytes (heal.gates.verify_copy)"))
                    }
                    CannotCopy::Io(error) => skip(format!("the work tree could not be copied: {error}")),
                })?;
            let target = work.tree().join(&commands.path);
            let bytes = std::fs::read(&target).map_err(|error| skip(format!("the copy cannot be read: {error}")))?;
            if Digest::of(&bytes) != placed.before {
                return Err(skip("the file changed while the repair was made".to_owned()));
            }
            // The file itself lies in the copy, whole; what a command may send on or keep has no secret of it.
            let original = Redactor::standard().text(&String::from_utf8_lossy(&bytes)).into_inner();
            if with_candidate {
                let changed = exchange(&bytes, placed.start, &placed.original, &placed.replacement)
                    .filter(|changed| Digest::of(changed) == placed.after)
                    .ok_or_else(|| skip("the repair does not fit into the copy".to_owned()))?;
                std::fs::write(&target, changed)
                    .map_err(|error| skip(format!("the copy cannot be written: {error}")))?;
            }
            let evidence = work.folder().join("evidence.json");
            let mut told = commands.evidence.as_ref().clone();
            if let Some(told) = told.as_object_mut() {
                told.insert("candidate_path".to_owned(), target.display().to_string().into());
                told.insert("original".to_owned(), original.into());
            }
            std::fs::write(&evidence, told.to_string())
                .map_err(|error| skip(format!("the evidence cannot be written: {error}")))?;
            let fences = fences(commands, &work).map_err(NoCopy::Skip)?;
            let environment = environment(commands, &work, evidence);
            Ok(Self { work, fences, environment })
        }

        fn run(&self, commands: &Commands, command: &[String], end: Instant, gone: &mut dyn FnMut() -> bool) -> Ran {
            let Some((program, arguments)) = command.split_first() else { return Ran::Accepted };
            let left = end.saturating_duration_since(Instant::now());
            let task = Task {
                program: program.into(),
                arguments: arguments.iter().map(Into::into).collect(),
                folder: self.work.tree(),
                environment: self.environment.clone(),
                input: Vec::new(),
                deadline: commands.time.min(left),
                output: OUTPUT,
            };
            match run_while_wanted(&task, Some(&self.fences), gone) {
                Ok(Done { end: TaskEnd::Exited(0), .. }) => Ran::Accepted,
                Ok(done) => Ran::Rejected(why(&done)),
                Err(error) => Ran::CannotStart(format!("{}: {error}", shown(command))),
            }
        }
    }

    /// Everything readable but what is hidden in the home folder, and the owner's own tree: what runs here must be the
    /// copy. Writing: the copy, an empty home, a folder for temporary files.
    fn fences(commands: &Commands, work: &WorkCopy) -> Result<Arc<Prepared>, String> {
        let mut allowance = ShutIn::new(work.folder().to_owned());
        allowance.read = readable(commands);
        allowance.cpu = Duration::from_secs(24 * 60 * 60);
        allowance.memory = u64::MAX;
        allowance.file_size = FILE;
        allowance.accept_unisolated = commands.accept_unisolated;
        let prepared = Prepared::for_commands(&allowance, &available(), commands.network);
        prepared.map(Arc::new).map_err(|error| error.to_string())
    }

    fn readable(commands: &Commands) -> Vec<PathBuf> {
        let system =
            ["/usr", "/bin", "/sbin", "/opt", "/etc", "/proc", "/nix", "/System", "/Library", "/run/systemd/resolve"];
        let mut read = usual_reads();
        read.extend(system.iter().map(PathBuf::from));
        let path = std::env::var_os("PATH").unwrap_or_default();
        for folder in std::env::split_paths(&path).filter(|folder| folder.is_absolute()) {
            // An interpreter stands beside its library, and a link to one beside nothing.
            let python = ["python3", "python"].iter().filter_map(|name| folder.join(name).canonicalize().ok());
            let real: Vec<PathBuf> = python.filter_map(|python| python.parent().map(PathBuf::from)).collect();
            for bin in real.into_iter().chain([folder]) {
                if let Some(above) = bin.parent() {
                    // Shims of a version manager look for the versions beside themselves.
                    if bin.ends_with("shims") {
                        read.push(above.to_owned());
                    }
                    read.extend(["lib", "lib64", "libexec", "include", "pyvenv.cfg"].map(|name| above.join(name)));
                }
                read.push(bin);
            }
        }
        read.extend(std::env::var_os("VIRTUAL_ENV").map(PathBuf::from));
        read.extend(commands.readable.iter().cloned());
        read.into_iter().flat_map(|path| beside(&path, &commands.root)).collect()
    }

    /// A folder as it is, or taken apart when the owner's tree lies in it: everything beside the way to the tree. What
    /// lies inside the tree, such as an environment, is given as it is.
    fn beside(path: &Path, root: &Path) -> Vec<PathBuf> {
        let Ok(real) = path.canonicalize() else { return Vec::new() };
        if !root.starts_with(&real) {
            return vec![real];
        }
        if real == root || real.parent().is_none() {
            return Vec::new();
        }
        let inner = std::fs::read_dir(&real).into_iter().flatten().flatten();
        inner.flat_map(|entry| beside(&entry.path(), root)).collect()
    }

    fn environment(commands: &Commands, work: &WorkCopy, evidence: PathBuf) -> Vec<(OsString, OsString)> {
        let mut seen: Vec<(OsString, OsString)> =
            KEPT.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?))).collect();
        let path = std::env::var_os("PYTHONPATH").unwrap_or_default();
        let path = moved(&path, &commands.root, &work.tree());
        if !path.is_empty() {
            seen.push(("PYTHONPATH".into(), path));
        }
        seen.push(("HOME".into(), work.home().into()));
        seen.push(("TMPDIR".into(), work.temporary().into()));
        seen.push(("SANARE_EVIDENCE_FILE".into(), evidence.into()));
        seen
    }

    /// Why a command rejects: its own `error`, else the end of what it printed, without secrets.
    fn why(done: &Done) -> String {
        let how = match done.end {
            TaskEnd::Exited(code) => format!("exit {code}"),
            TaskEnd::Killed(signal) => format!("ended by signal {signal}"),
            TaskEnd::TimedOut => format!("no end after {:.1} s", done.took.as_secs_f64()),
            TaskEnd::Unknown => "it ended, and nobody knows how".to_owned(),
        };
        let output = String::from_utf8_lossy(&done.output);
        let said = output.lines().next_back().and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let said = said.and_then(|json| json.get("error")?.as_str().map(str::to_owned));
        let errors = String::from_utf8_lossy(&done.errors);
        let text = said.unwrap_or_else(|| format!("{}\n{}", output.trim_end(), errors.trim_end()).trim().to_owned());
        let text = Redactor::standard().text(last(&text, OUTPUT)).into_inner();
        if text.is_empty() { how } else { format!("{how}: {text}") }
    }

    fn last(text: &str, bytes: usize) -> &str {
        let mut start = text.len().saturating_sub(bytes);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        text.get(start..).unwrap_or_default()
    }

    fn shown(command: &[String]) -> String {
        let text = command.join(" ");
        let cut: String = text.chars().take(120).collect();
        if cut.len() < text.len() { format!("`{cut}…`") } else { format!("`{cut}`") }
    }

    #[cfg(test)]
    mod tests {
        use super::beside;

        #[test]
        fn a_folder_that_holds_the_tree_is_taken_apart() {
            let base = std::env::temp_dir().join(format!("sanare-beside-{}", std::process::id()));
            let root = base.join("src/app");
            for folder in ["bin", "src/app/.venv/lib", "src/other"] {
                std::fs::create_dir_all(base.join(folder)).unwrap();
            }
            let base = base.canonicalize().unwrap();
            let root = root.canonicalize().unwrap();
            let mut found = beside(&base, &root);
            found.sort();
            assert_eq!(found, [base.join("bin"), base.join("src/other")]);
            assert_eq!(beside(&root.join(".venv"), &root), [root.join(".venv")]);
            assert!(beside(&root, &root).is_empty());
            std::fs::remove_dir_all(&base).unwrap();
        }
    }
}
