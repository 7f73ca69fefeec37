//! Trying something in a forked, shut-in copy of the running process (C88).
//!
//! The child keeps one connection to its parent, loses every other descriptor, shuts itself in, does its work and sends
//! back bytes. The parent waits with a deadline, answers and notes what the child is refused, reads no more than it
//! wants, and always kills and reaps. What does not live here: what the bytes mean.

#[cfg(target_os = "linux")]
mod child;
mod folder;
#[cfg(target_os = "linux")]
mod parent;
#[cfg(target_os = "linux")]
mod shared_memory;
#[cfg(target_os = "linux")]
mod wire;

pub use folder::PrivateFolder;
#[cfg(target_os = "linux")]
pub use parent::{Running, start};

use std::time::Duration;

use crate::sandbox::{Part, Prepared};

/// What the parent holds the child to.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From the fork to the end.
    pub deadline: Duration,
    /// From the fork to the first sign of life: locks that other threads held at the fork show here.
    pub sign_of_life: Duration,
    /// Without using a processor: such locks show here when the work itself takes them.
    pub idle: Duration,
    /// The longest report.
    pub report: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(5),
            sign_of_life: Duration::from_secs(2),
            idle: Duration::from_secs(2),
            report: 16 << 20,
        }
    }
}

/// What a host language must do around a fork.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// In the parent, right before.
    pub before_fork: fn(),
    /// In the child, once it is shut in and before its sign of life.
    pub after_fork_child: fn(),
    /// In the parent, right after, also when the fork failed.
    pub after_fork_parent: fn(),
}

impl Default for Hooks {
    fn default() -> Self {
        Self { before_fork: || (), after_fork_child: || (), after_fork_parent: || () }
    }
}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialEnd {
    /// The work came back.
    Reported(Vec<u8>),
    /// The deadline or the limit on processor time passed.
    TimedOut,
    /// A signal ended it.
    Crashed {
        /// Which one.
        signal: i32,
    },
    /// It left without a report.
    ExitedEarly {
        /// The exit code; none when somebody else collected it.
        code: Option<i32>,
    },
    /// It ended after more memory was asked for than allowed.
    MemoryLimit,
    /// It filled its folder.
    FolderLimit,
    /// Its report is too long.
    ReportLimit,
    /// What came back is no report.
    Garbled,
    /// Nothing was heard of it: try a fresh process instead.
    NoSignOfLife,
    /// It waited for something that did not come: a lock that another thread held at the fork, or plain sleep. Try a
    /// fresh process instead.
    Idle,
    /// A part could not be had, so nothing was run.
    NoIsolation(Part),
    /// The parent was asked to stop waiting.
    Interrupted,
}

/// A trial that is over: its process has ended or is being ended, and is collected when this is dropped.
#[derive(Debug)]
pub struct Trial {
    /// How it ended.
    pub end: TrialEnd,
    /// Calls that the filter refused, in order, the first of each name. A trial that then ended well was not stopped by
    /// them. What Landlock refuses is not here: it shows as `EACCES` (Python: `PermissionError`) in the work itself, and
    /// the parent's descriptors answer `EBADF`.
    pub denied: Vec<&'static str>,
    /// True when more memory was asked for at once than the limit.
    pub memory_refused: bool,
    /// From the fork to the end.
    pub took: Duration,
    /// Time on processors.
    pub cpu: Duration,
    /// Parts that were missing and accepted so.
    pub weaker: Vec<Part>,
    /// Clearing a large copy away takes the kernel as long as making it, and can go on while the report is read.
    #[cfg(target_os = "linux")]
    _remains: Option<crate::process::offspring::Offspring>,
}

/// Why no trial could be started.
#[derive(Debug, thiserror::Error)]
pub enum CannotFork {
    /// No more processes, memory or descriptors.
    #[error("cannot {doing}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
}

/// Runs `work` in a child and waits for the end. See [`start`] to do something else meanwhile.
#[cfg(target_os = "linux")]
pub fn fork_trial(
    prepared: &Prepared,
    limits: &Limits,
    hooks: &Hooks,
    work: impl FnOnce() -> Vec<u8>,
) -> Result<Trial, CannotFork> {
    Ok(start(prepared, limits, hooks, work)?.wait())
}

/// Here nothing is run.
#[cfg(not(target_os = "linux"))]
pub fn fork_trial(
    prepared: &Prepared,
    _: &Limits,
    _: &Hooks,
    _: impl FnOnce() -> Vec<u8>,
) -> Result<Trial, CannotFork> {
    let _ = prepared.weaker();
    Ok(Trial {
        end: TrialEnd::NoIsolation(Part::Fork),
        denied: Vec::new(),
        memory_refused: false,
        took: Duration::ZERO,
        cpu: Duration::ZERO,
        weaker: Vec::new(),
    })
}
