//! Running other programs: each is shown before it runs, and one that fails is an error that names it.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

thread_local! {
    /// Where this thread's commands print, if not to the terminal.
    static KEPT: RefCell<Option<File>> = const { RefCell::new(None) };
}

/// Runs `work` with what its commands print kept in `log`: all that `run` and `output` start on this thread.
pub fn kept_in<T>(log: File, work: impl FnOnce() -> T) -> T {
    KEPT.set(Some(log));
    let done = work();
    KEPT.set(None);
    done
}

/// Prints a line where this thread's commands print.
pub fn tell(line: &str) {
    KEPT.with_borrow_mut(|kept| match kept {
        Some(log) => {
            // A full disk fails the commands themselves, and is told by them.
            let _ = writeln!(log, "{line}");
        }
        None => eprintln!("{line}"),
    });
}

/// Where a command of this thread shows a stream.
fn stream() -> std::io::Result<Stdio> {
    KEPT.with_borrow(|kept| kept.as_ref().map_or_else(|| Ok(Stdio::inherit()), |log| log.try_clone().map(Stdio::from)))
}

/// A command in `folder`, without the settings of Sanare that the caller's shell may carry.
pub fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    let ours = std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_string_lossy().starts_with("SANARE_"));
    for name in ours.filter(|name| name != "SANARE_SHARED") {
        command.env_remove(name);
    }
    for name in ["PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV"] {
        command.env_remove(name);
    }
    command
}

/// `cargo` itself, the one that runs this program if there is one.
pub fn cargo(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), folder);
    command.args(arguments);
    command
}

/// Runs it with its output shown; anything but exit code 0 is an error.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    let shown = shown(command);
    tell(&format!("$ {shown}"));
    let kept = KEPT.with_borrow(Option::is_some);
    if kept {
        command.stdout(stream()?).stderr(stream()?);
    }
    let status = command.status().with_context(|| format!("`{shown}` could not be started"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// Runs it and returns its standard output; standard error is shown.
pub fn output(command: &mut Command) -> anyhow::Result<String> {
    let shown = shown(command);
    let output = command.stderr(stream()?).output().with_context(|| format!("`{shown}` could not be started"))?;
    if !output.status.success() {
        bail!("`{shown}` ended with {}: {}", output.status, String::from_utf8_lossy(&output.stdout).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` did not print text"))
}

/// Runs it silently; `None` when it cannot be started or fails.
pub fn answer(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
}

fn shown(command: &Command) -> String {
    let mut words = vec![name_of(command.get_program())];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

fn name_of(program: &OsStr) -> String {
    Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned()
}
