//! The command adapter: a program of the owner's, told what to do and believed as far as its exit code goes (S81).

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sanare_core::service::declaration::Declaration;
use sanare_core::service::gates::GateCheck;
use sanare_core::service::job::{Following, JobState};
use sanare_core::service::port::{Acted, Adapter, Availability, Intent, Probe};
use sanare_core::service::receipt::{Purpose, Receipt, WorldState};
use sanare_core::service::target::Identity;
use sanare_core::service::text::Output;
use sanare_core::service::word::Effect;
use sanare_core::service::{Invalid, Text};

use super::adapter::{availability, can_undo, cancels, fenced, identity_of, told, without_dry_run};
use super::job::Job;
use super::{fill, world};
use crate::task::{Task, TaskEnd, run};
use crate::trial::PrivateFolder;

/// Bytes of output that are looked at.
const OUTPUT: usize = 64 * 1024;
/// The exit code for "nothing was begun" (EX_TEMPFAIL of sysexits.h).
const NOT_STARTED: i32 = 75;

/// What an owner wrote of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// An absolute program and its arguments; an argument may be a placeholder as a whole.
    pub argv: Vec<String>,
    /// The same for taking it back, where that is possible.
    pub undo: Option<Vec<String>>,
    /// Variables of our environment that it sees.
    pub environment: Vec<String>,
    /// Whether a failure is sure to have changed nothing.
    pub clean_failures: bool,
    /// How the job is followed that it begins; its name is the first line that it writes.
    pub job: Option<Job>,
}

/// A command.
pub struct Command {
    settings: Settings,
    declaration: Declaration,
    identity: Option<Arc<dyn Probe>>,
}

impl Command {
    /// Checks a command.
    ///
    /// # Errors
    /// [`Invalid`] for a program that is not absolute, a placeholder within an argument, a fence without a probe, or a
    /// reversible act without `undo`.
    pub fn new(
        settings: Settings,
        declaration: Declaration,
        identity: Option<Arc<dyn Probe>>,
    ) -> Result<Self, Invalid> {
        check_argv("argv", &settings.argv)?;
        if let Some(undo) = &settings.undo {
            check_argv("undo", undo)?;
        }
        let cancels = settings.job.as_ref().is_some_and(|job| job.cancel.is_some());
        if declaration.reversible && !can_undo(&declaration, settings.undo.is_some(), cancels) {
            return Err(Invalid::new("undo", "is missing; it is declared reversible"));
        }
        if !declaration.fence.is_empty() && identity.is_none() {
            return Err(Invalid::new("fence", "needs a probe that reads what it compares"));
        }
        Ok(Self { settings, declaration, identity })
    }

    fn argv(&self, intent: &Intent) -> Option<Vec<String>> {
        let argv = match intent.key.purpose {
            Purpose::Act => &self.settings.argv,
            Purpose::Undo => self.settings.undo.as_ref()?,
        };
        let fill = |argument: &String| match fill::ALL.contains(&argument.as_str()) {
            true => fill::value(argument, intent),
            false => Some(argument.clone()),
        };
        argv.iter().map(fill).collect()
    }

    fn environment(&self, intent: &Intent) -> Vec<(OsString, OsString)> {
        let names = self.settings.environment.iter();
        let mut all: Vec<(OsString, OsString)> =
            names.filter_map(|name| std::env::var_os(name).map(|value| (name.into(), value))).collect();
        let version = fill::version(intent).map(ToString::to_string).unwrap_or_default();
        for (name, value) in [
            ("SANARE_RECEIPT", intent.receipt_id.as_str().to_owned()),
            ("SANARE_KEY", intent.key.to_string()),
            ("SANARE_ACTION", intent.key.action.word().to_owned()),
            ("SANARE_PURPOSE", intent.key.purpose.word().to_owned()),
            ("SANARE_APPLICATION", intent.application.to_string()),
            ("SANARE_COMPONENT", intent.component.to_string()),
            ("SANARE_FENCE", intent.fence.to_string()),
            ("SANARE_VERSION", version),
        ] {
            all.push((name.into(), value.into()));
        }
        all
    }
}

fn check_argv(field: &str, argv: &[String]) -> Result<(), Invalid> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(Invalid::new(field, "is empty"));
    };
    if !Path::new(program).is_absolute() {
        return Err(Invalid::quoting(field, program, "a program is named by its absolute path"));
    }
    for argument in argv {
        if argument.contains('\0') {
            return Err(Invalid::new(field, "has a zero byte"));
        }
    }
    let within = |argument: &&String| {
        fill::ALL.iter().any(|placeholder| argument.contains(placeholder) && argument.as_str() != *placeholder)
    };
    if let Some(argument) = arguments.iter().find(within) {
        return Err(Invalid::quoting(field, argument, "a placeholder is a whole argument"));
    }
    if fill::ALL.iter().any(|placeholder| program.contains(placeholder)) {
        return Err(Invalid::quoting(field, program, "a placeholder is an argument, never the program"));
    }
    Ok(())
}

impl Adapter for Command {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn available(&self) -> Availability {
        let program = self.settings.argv.first().map(String::as_str).unwrap_or_default();
        let fault = match cfg!(unix) {
            true => (!is_executable(program)).then(|| format!("`{program}` cannot be run")),
            false => Some("programs are not run on this system".to_owned()),
        };
        availability(fault)
    }

    fn identity(&self) -> Identity {
        identity_of(self.identity.as_ref())
    }

    fn rehearse(&self, _: &Intent) -> Vec<GateCheck> {
        let gate = "preconditions";
        without_dry_run(match self.available() {
            Availability::Available => GateCheck::passed(gate, "program"),
            Availability::Unavailable(why) => GateCheck::failed(gate, "program", why.as_str()),
        })
    }

    fn act(&self, intent: &Intent) -> Acted {
        if let Some(fenced) = fenced(&self.declaration, intent, || self.identity()) {
            return fenced;
        }
        if cancels(&self.declaration, intent)
            && let Some(job) = &self.settings.job
        {
            return job.cancel(intent.job.as_ref().map(Text::as_str));
        }
        let Some(argv) = self.argv(intent) else {
            return told(Effect::NotStarted, "there is no value for a placeholder, or nothing to take it back by");
        };
        let (Ok(folder), Ok(input)) = (PrivateFolder::create(), serde_json::to_vec(intent)) else {
            return told(Effect::NotStarted, "there is no folder to run it in");
        };
        let mut argv = argv.into_iter().map(OsString::from);
        let task = Task {
            program: argv.next().unwrap_or_default(),
            arguments: argv.collect(),
            folder: folder.path().to_owned(),
            environment: self.environment(intent),
            input,
            deadline: Duration::from_millis(intent.timeout_ms.min(self.declaration.timeout_ms)),
            output: OUTPUT,
        };
        let done = match run(&task) {
            Ok(done) => done,
            Err(why) => return told(Effect::NotStarted, &why.to_string()),
        };
        let effect = match done.end {
            TaskEnd::Exited(0) => Effect::Done,
            TaskEnd::Exited(NOT_STARTED) => Effect::NotStarted,
            TaskEnd::Exited(_) if self.settings.clean_failures => Effect::Refused,
            TaskEnd::Exited(_) | TaskEnd::Killed(_) | TaskEnd::TimedOut | TaskEnd::Unknown => Effect::Unknown,
        };
        let text = [String::from_utf8_lossy(&done.output), String::from_utf8_lossy(&done.errors)].concat();
        let said = Acted { output: Output::of(&text), ..Acted::plain(effect) };
        match (&self.settings.job, Job::written(&done.output)) {
            (Some(_), Some(name)) if effect == Effect::Done => Acted { reference: Some(Text::of(&name)), ..said },
            (Some(_), None) if effect == Effect::Done => Acted { effect: Effect::Unknown, ..said },
            _ => said,
        }
    }

    fn state(&self, receipt: &Receipt) -> WorldState {
        world::compare(receipt, &self.identity())
    }

    fn follows(&self) -> Option<Following> {
        self.settings.job.as_ref().map(|job| job.following)
    }

    fn job(&self, receipt: &Receipt, job: Option<&str>) -> JobState {
        match &self.settings.job {
            Some(settings) => settings.state(receipt, job),
            None => JobState::CannotTell(Text::of("it is not followed")),
        }
    }
}

#[cfg(unix)]
fn is_executable(program: &str) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(program).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Where programs cannot be run, none can be.
#[cfg(not(unix))]
fn is_executable(_: &str) -> bool {
    false
}

#[cfg(test)]
mod tests;
