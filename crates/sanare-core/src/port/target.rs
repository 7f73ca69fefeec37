//! The one file that a repair may change.

use crate::gate::{Check, GateReport};
use crate::hash::Digest;
use crate::proposal::{Candidate, Rejection};
use crate::receipt::Receipt;

/// What a file operation met.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetFault {
    /// The file is not as it was when the candidate was made.
    #[error("the file changed meanwhile")]
    Changed,
    /// The disk is full.
    #[error("the disk is full")]
    DiskFull,
    /// It may not be written.
    #[error("the file cannot be written: {0}")]
    NotWritable(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// The candidate put in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The whole module, `\n` line ends.
    pub module: String,
    /// The function's text in it, as it stands there.
    pub text: String,
    /// Hash of the file before.
    pub before: Digest,
    /// Hash of the file after.
    pub after: Digest,
    /// Offset of the replaced span in the file's bytes.
    pub start: usize,
    /// Bytes of the span before.
    pub original: Vec<u8>,
    /// Bytes of the span after.
    pub replacement: Vec<u8>,
    /// A unified diff for people.
    pub diff: String,
}

/// The target's file, and the static gates, which need its text.
pub trait Target {
    /// Absolute path of the file.
    fn path(&self) -> &str;

    /// The module as it is now, `\n` line ends.
    fn module(&self) -> &str;

    /// Gates 1 to 4 on a candidate, the interpreter's own compile left out.
    fn vet(&self, candidate: &Candidate, rejected: &[Rejection]) -> GateReport;

    /// Puts a candidate into the file's bytes, in memory.
    ///
    /// # Errors
    /// A failed [`Check`] (`encodes`, `one_function`) when that cannot be done.
    fn place(&self, candidate: &Candidate) -> Result<Placed, Check>;

    /// Whether the file could be written, known before anything is paid for; `Some` says why not.
    fn unwritable(&self) -> Option<String>;

    /// Hash of the file on disk now; `None` when it cannot be read.
    fn digest_now(&self) -> Option<Digest>;

    /// Writes the receipt's change, if the file is as it was before.
    ///
    /// # Errors
    /// [`TargetFault`]; the file is then whole, old or new.
    fn write(&self, receipt: &Receipt) -> Result<(), TargetFault>;

    /// Takes the receipt's own span back, other changes of the file kept.
    ///
    /// # Errors
    /// [`TargetFault`]; [`TargetFault::Changed`] when the span is not as the repair left it.
    fn restore(&self, receipt: &Receipt) -> Result<(), TargetFault>;

    /// Reads the file again. True: it is another one now, but the function is as it was, so that a repair of it can be
    /// placed anew. False: nothing changed here, and what was read stays.
    fn moved_on(&mut self) -> bool {
        false
    }

    /// Whether the owner's stop switch is set.
    fn stopped(&self) -> bool;
}
