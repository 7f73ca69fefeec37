//! The trial's child: this process, forked and shut in, with the interpreter told of it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sanare::core::port::RanState;
use sanare::effects::sandbox::{Prepared, ShutIn, available, usual_reads};
use sanare::effects::trial::{Limits, PrivateFolder, Trial, TrialEnd};

/// Where a trial runs (C89).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// A fork; where that stands still a fresh interpreter.
    #[default]
    Auto,
    /// A fork alone.
    Fork,
    /// A fresh interpreter alone.
    Fresh,
    /// Nowhere.
    None,
}

impl Isolation {
    /// From its word in the settings.
    pub fn from_word(word: &str) -> Self {
        match word {
            "fork" => Self::Fork,
            "fresh" => Self::Fresh,
            "none" => Self::None,
            _ => Self::Auto,
        }
    }
}

/// What a trial is held to.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// From the fork to the end.
    pub time: Duration,
    /// Bytes above what the process has.
    pub memory: u64,
    /// Whether missing parts of isolation are accepted.
    pub accept_unisolated: bool,
    /// When the whole heal must be over (C4).
    pub deadline: Option<Instant>,
    /// Where it runs.
    pub isolation: Isolation,
}

impl Default for Allowance {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(20),
            memory: 1 << 30,
            accept_unisolated: false,
            deadline: None,
            isolation: Isolation::Auto,
        }
    }
}

impl Allowance {
    /// What one trial may take now.
    pub fn time_left(&self) -> Duration {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        left.map_or(self.time, |left| left.min(self.time))
    }
}

/// What came of a child.
#[derive(Debug)]
pub enum Child {
    /// The bytes that it sent, and the calls that it was refused on the way.
    Sent(Vec<u8>, Vec<&'static str>),
    /// It sent nothing: how it ended, and words for people.
    Ended(RanState, String),
    /// It stood still, as a fork does when another thread held a lock: nothing is known of the work.
    Stuck(String),
    /// The program was told to stop meanwhile.
    Interrupted(PyErr),
}

/// The fences of one failing call: made once, entered by every trial of it.
pub struct Fences {
    folder: PrivateFolder,
    prepared: Prepared,
    allowance: Allowance,
}

impl std::fmt::Debug for Fences {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fences").field("allowance", &self.allowance).finish_non_exhaustive()
    }
}

impl Fences {
    /// Makes them; the answer is otherwise how every trial ends without them.
    pub fn make(readable: &[String], allowance: Allowance) -> Result<Self, Child> {
        let folder = PrivateFolder::create()
            .map_err(|error| Child::Ended(RanState::CannotRun, format!("no private folder: {error}")))?;
        let mut shut_in = ShutIn::new(folder.path().to_path_buf());
        shut_in.read = usual_reads();
        shut_in.read.extend(readable.iter().map(PathBuf::from));
        shut_in.cpu = allowance.time;
        shut_in.memory = allowance.memory;
        shut_in.accept_unisolated = allowance.accept_unisolated;
        let prepared = Prepared::new(&shut_in, &available())
            .map_err(|why| Child::Ended(RanState::NoIsolation, why.to_string()))?;
        Ok(Self { folder, prepared, allowance })
    }

    /// Forks, shuts the child in, calls `work(folder)` there, and waits, without the interpreter's lock, for the bytes
    /// that it gives.
    pub fn run(&self, py: Python<'_>, work: &Bound<'_, PyAny>) -> Child {
        let time = self.allowance.time_left();
        if time.is_zero() {
            return Child::Ended(RanState::TimedOut, "the deadline passed".to_owned());
        }
        // What an earlier trial left is none of this one's business.
        let _ = self.folder.empty();
        let limits = Limits { deadline: time, ..Limits::default() };
        let folder = self.folder.path().to_string_lossy().into_owned();
        let in_child = || child_work(work, folder);
        #[cfg(not(target_os = "linux"))]
        let _ = py;
        #[cfg(not(target_os = "linux"))]
        let ended = sanare::effects::trial::fork_trial(&self.prepared, &limits, &HOOKS, in_child).map(|it| (it, None));
        #[cfg(target_os = "linux")]
        let ended = sanare::effects::trial::start(&self.prepared, &limits, &HOOKS, in_child).map(|running| {
            let mut stopped = None;
            // A signal such as Ctrl-C is the program's: its handler runs, and the trial ends if it raises.
            let stop = || {
                stopped = Python::attach(|py| py.check_signals().err());
                stopped.is_some()
            };
            let trial = py.detach(|| running.wait_unless(stop));
            (trial, stopped)
        });
        match ended {
            Ok((_, Some(error))) => Child::Interrupted(error),
            Ok((trial, None)) => said(trial),
            Err(why) => Child::Ended(RanState::CannotRun, why.to_string()),
        }
    }
}

/// In the child: the prepared trial. It answers for every exception itself; what is left is an end without words.
fn child_work(prepared: &Bound<'_, PyAny>, folder: String) -> Vec<u8> {
    match prepared.call1((folder,)) {
        Ok(answer) => answer.cast::<PyBytes>().map(|bytes| bytes.as_bytes().to_vec()).unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}

fn said(trial: Trial) -> Child {
    let refused =
        if trial.denied.is_empty() { String::new() } else { format!("; refused: {}", trial.denied.join(", ")) };
    let (state, words) = match trial.end {
        TrialEnd::Reported(bytes) if bytes.is_empty() && trial.memory_refused => {
            (RanState::MemoryLimit, "more memory was asked for than allowed".to_owned())
        }
        TrialEnd::Reported(bytes) if bytes.is_empty() => (RanState::Crashed, "it gave no answer".to_owned()),
        TrialEnd::Reported(bytes) => return Child::Sent(bytes, trial.denied),
        TrialEnd::TimedOut => (RanState::TimedOut, format!("no end within {:.1} s", trial.took.as_secs_f64())),
        TrialEnd::Crashed { signal } => (RanState::Crashed, format!("ended by signal {signal}")),
        TrialEnd::ExitedEarly { code: Some(code) } => (RanState::Exited, format!("it ended the process, code {code}")),
        TrialEnd::ExitedEarly { code: None } => (RanState::Exited, "it ended the process".to_owned()),
        TrialEnd::MemoryLimit => (RanState::MemoryLimit, "more memory was asked for than allowed".to_owned()),
        TrialEnd::FolderLimit => (RanState::Denied, "it filled its folder".to_owned()),
        TrialEnd::ReportLimit | TrialEnd::Garbled => (RanState::Crashed, "what came back is no answer".to_owned()),
        TrialEnd::Idle => return Child::Stuck("it stood still: another thread held a lock".to_owned()),
        TrialEnd::NoSignOfLife => return Child::Stuck("no sign of life: another thread held a lock".to_owned()),
        TrialEnd::NoIsolation(part) => (RanState::NoIsolation, format!("no isolation: {part}")),
        TrialEnd::Interrupted => (RanState::CannotRun, "interrupted".to_owned()),
    };
    Child::Ended(state, format!("{words}{refused}"))
}

#[cfg(unix)]
const HOOKS: sanare::effects::trial::Hooks = sanare::effects::trial::Hooks {
    before_fork: python_before_fork,
    after_fork_child: python_in_child,
    after_fork_parent: python_in_parent,
};

#[cfg(not(unix))]
const HOOKS: sanare::effects::trial::Hooks =
    sanare::effects::trial::Hooks { before_fork: || (), after_fork_child: || (), after_fork_parent: || () };

#[cfg(unix)]
fn python_before_fork() {
    // SAFETY: called with the interpreter's lock held, right before the fork.
    #[expect(unsafe_code, reason = "the interpreter's own fork hooks have no safe counterpart")]
    unsafe {
        pyo3::ffi::PyOS_BeforeFork();
    }
}

#[cfg(unix)]
fn python_in_child() {
    // SAFETY: called in the child by the thread that forked, with the interpreter's lock held.
    #[expect(unsafe_code, reason = "the interpreter's own fork hooks have no safe counterpart")]
    unsafe {
        pyo3::ffi::PyOS_AfterFork_Child();
    }
}

#[cfg(unix)]
fn python_in_parent() {
    // SAFETY: called in the parent by the thread that forked, with the interpreter's lock held.
    #[expect(unsafe_code, reason = "the interpreter's own fork hooks have no safe counterpart")]
    unsafe {
        pyo3::ffi::PyOS_AfterFork_Parent();
    }
}
