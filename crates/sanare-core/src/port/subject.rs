//! The failing program itself: compile, try, swap and run again, inside the process that failed.

use crate::evidence::{Failure, TwinValue};
use crate::gate::Check;

/// How a run in the sandbox ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RanState {
    /// The function returned.
    Returned,
    /// It raised; [`Ran::failure`] says what.
    Raised,
    /// It asked the system for something that it may not have.
    Denied,
    /// It did not end in time.
    TimedOut,
    /// It wanted more memory than allowed.
    MemoryLimit,
    /// It died by a signal.
    Crashed,
    /// It ended the process itself.
    Exited,
    /// There is no sandbox here; `detail` names the missing part.
    NoIsolation,
    /// It could not be run at all; `detail` says why.
    CannotRun,
}

/// What came of a run in the sandbox. Never the result itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// How it ended.
    pub state: RanState,
    /// Digest over the result: values, types, order.
    pub digest: String,
    /// Python type of the result.
    pub result_type: String,
    /// Whether the result is an empty container or `None`.
    pub result_empty: bool,
    /// Digest of the arguments differs afterwards.
    pub arguments_changed: bool,
    /// How it failed, where it did.
    pub failure: Option<Failure>,
    /// System calls that the run was refused, whether or not it went on without them.
    pub denied: Vec<String>,
    /// Words for people.
    pub detail: String,
}

impl Ran {
    /// A run that ended so, with nothing else known.
    pub fn ended(state: RanState, detail: impl Into<String>) -> Self {
        Self {
            state,
            digest: String::new(),
            result_type: String::new(),
            result_empty: false,
            arguments_changed: false,
            failure: None,
            denied: Vec::new(),
            detail: detail.into(),
        }
    }
}

/// The host side broke: not the candidate's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the running program could not be asked: {0}")]
pub struct SubjectFault(pub String);

/// The program that failed.
pub trait Subject {
    /// Told at every turn of the loop (`recorded opened`, `before_write`, `after_write`, `before_swap`, `after_swap`,
    /// `before_rerun`, `after_rerun`), for listeners; nothing it does changes the loop.
    fn moment(&mut self, _moment: &str) {}

    /// Whether the caller does not wait for the call any more (its task was cancelled): the heal is then abandoned.
    fn abandoned(&mut self) -> bool {
        false
    }

    /// Told of the module text that the failing code was made from, where the file holds another one by now: what may run
    /// again is judged by the body that ran.
    fn ran_from(&mut self, _module: &str) {}

    /// Compiles the whole module text with the running interpreter; `Some` is its complaint.
    ///
    /// # Errors
    /// [`SubjectFault`] when the host itself broke.
    fn compiles(&mut self, module: &str) -> Result<Option<String>, SubjectFault>;

    /// Runs the target as this module text has it, in a shut-in copy of the process, with the real arguments or, for a
    /// replay, with these.
    ///
    /// # Errors
    /// [`SubjectFault`] when the host itself broke.
    fn trial(&mut self, module: &str, arguments: Option<&[(String, TwinValue)]>) -> Result<Ran, SubjectFault>;

    /// Several [`trials`](Self::trial) of one module text, in this order. A host may run them in one copy of the
    /// process: forks are what a heal spends most of its time with.
    ///
    /// # Errors
    /// [`SubjectFault`] when the host itself broke.
    fn trials(&mut self, module: &str, runs: &[Option<&[(String, TwinValue)]>]) -> Result<Vec<Ran>, SubjectFault> {
        runs.iter().map(|arguments| self.trial(module, *arguments)).collect()
    }

    /// Replays recorded calls, examples and contracts against this module text: one check each.
    ///
    /// # Errors
    /// [`SubjectFault`] when the host itself broke.
    fn replay(&mut self, module: &str) -> Result<Vec<Check>, SubjectFault>;

    /// Puts the target's code from this module text behind the running function; `Some` says why that was not possible.
    ///
    /// # Errors
    /// [`SubjectFault`] when the host itself broke.
    fn swap(&mut self, module: &str) -> Result<Option<String>, SubjectFault>;

    /// Puts the old code back.
    ///
    /// # Errors
    /// [`SubjectFault`] when the host itself broke.
    fn unswap(&mut self) -> Result<(), SubjectFault>;

    /// Whether the owner's call may run again: `None`, or why not (C111).
    ///
    /// # Errors
    /// [`SubjectFault`] when the host itself broke.
    fn rerun_unsafe(&mut self) -> Result<Option<String>, SubjectFault>;

    /// Runs the owner's call once more, for real, and keeps its result for the caller.
    ///
    /// # Errors
    /// [`SubjectFault`] when the host itself broke.
    fn rerun(&mut self) -> Result<Result<(), Failure>, SubjectFault>;

    /// Which of these dotted members exist in the running interpreter.
    ///
    /// # Errors
    /// [`SubjectFault`] when the host itself broke.
    fn members(&mut self, dotted: &[String]) -> Result<Vec<(String, bool)>, SubjectFault>;

    /// Versions of these installed distributions; those not installed are left out.
    ///
    /// # Errors
    /// [`SubjectFault`] when the host itself broke.
    fn versions(&mut self, distributions: &[String]) -> Result<Vec<(String, String)>, SubjectFault>;
}
