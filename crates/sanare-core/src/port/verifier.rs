//! The owner's own commands, run with a candidate in place.

use crate::gate::Check;
use crate::port::target::Placed;

/// What the owner's commands said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verified {
    /// No command is configured.
    None,
    /// The gate's checks.
    Checks(Vec<Check>),
    /// A command could not be started: that is no verdict on the candidate (C94).
    CannotStart(String),
}

/// Runs the owner's commands on a copy of the work tree. Nothing of the owner's is changed.
pub trait Verifier {
    /// Runs them with a candidate in place, within so many milliseconds, or until nobody waits for it any more.
    fn verify(&mut self, placed: &Placed, time_left_ms: u64, gone: &mut dyn FnMut() -> bool) -> Verified;
}
