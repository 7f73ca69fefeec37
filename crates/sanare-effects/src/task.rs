//! Running another program under a bound: a fresh interpreter for a trial, an owner's verify command.
//!
//! The program sees the environment that it is given and nothing else, runs in a group of its own, dies with its parent
//! (Linux), and is killed with its group at the deadline and after a normal end alike. Of what it prints the last bytes
//! are kept. What does not live here: whether what it said is good.
//!
//! Only systems with groups of processes can keep these promises; elsewhere no program is run at all, and that is said.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::sandbox::Prepared;

#[cfg(unix)]
mod group;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Task {
    /// The program: a path, or a name that is looked up in the given `PATH`.
    pub program: OsString,
    /// What it is told.
    pub arguments: Vec<OsString>,
    /// Where it runs.
    pub folder: PathBuf,
    /// All variables that it sees.
    pub environment: Vec<(OsString, OsString)>,
    /// What it reads from standard input.
    pub input: Vec<u8>,
    /// How long it may take.
    pub deadline: Duration,
    /// How many bytes of each output are kept, from the end.
    pub output: usize,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// It left with this code.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// The deadline passed.
    TimedOut,
    /// It ended, and somebody else took its code.
    Unknown,
}

/// A program that is over, with all its children in the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// How it ended.
    pub end: TaskEnd,
    /// The last bytes of standard output.
    pub output: Vec<u8>,
    /// The last bytes of standard error.
    pub errors: Vec<u8>,
    /// From start to end.
    pub took: Duration,
    /// Time on processors.
    pub cpu: Duration,
}

/// Why a program could not be started. That is no verdict on anything.
#[derive(Debug, thiserror::Error)]
pub enum CannotStart {
    /// There is no such program, or no such folder to run it in.
    #[error("no such program or folder: `{0}`")]
    Missing(String),
    /// It may not be run.
    #[error("not permitted to run `{0}`")]
    NotPermitted(String),
    /// It could not be shut in.
    #[error("`{0}` could not be shut in")]
    NotShutIn(String),
    /// The stop switch was set meanwhile.
    #[error("the stop switch is set, or cannot be read")]
    Stopped,
    /// This system cannot end a program together with all that it started.
    #[error("programs are not run on this system")]
    NotHere,
    /// The system said no.
    #[error("cannot run `{program}`")]
    Io {
        /// The program.
        program: String,
        /// The system's answer.
        source: std::io::Error,
    },
}

/// Runs a program to its end or to the deadline. The calling thread must live as long.
pub fn run(task: &Task) -> Result<Done, CannotStart> {
    run_while_wanted(task, None, &mut || false)
}

/// The same behind fences made by [`Prepared::for_commands`].
pub fn run_shut_in(task: &Task, fences: Option<&Arc<Prepared>>) -> Result<Done, CannotStart> {
    run_while_wanted(task, fences, &mut || false)
}

/// The same, until nobody waits for it any more: then it is ended as at the deadline.
pub fn run_while_wanted(
    task: &Task,
    fences: Option<&Arc<Prepared>>,
    gone: &mut dyn FnMut() -> bool,
) -> Result<Done, CannotStart> {
    #[cfg(unix)]
    return group::run_while_wanted(task, fences, gone);
    #[cfg(not(unix))]
    {
        let _ = (task, fences, gone);
        Err(CannotStart::NotHere)
    }
}
