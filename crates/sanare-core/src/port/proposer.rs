//! Who makes candidates.

use crate::evidence::Evidence;
use crate::incident::ProposerName;
use crate::port::Subject;
use crate::proposal::{Candidate, Declined, Rejection};

/// What a proposer is asked.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Everything it may look at.
    pub evidence: &'a Evidence,
    /// The target's qualified name.
    pub function: &'a str,
    /// Candidates that did not get through, and why.
    pub rejections: &'a [Rejection],
    /// What other proposers said.
    pub declined: &'a [Declined],
    /// Milliseconds left of the deadline.
    pub time_left_ms: u64,
}

/// A maker of candidates. It may try text in the subject's sandbox, and can do nothing else.
pub trait Proposer {
    /// Its name.
    fn name(&self) -> ProposerName;

    /// A candidate, or why there is none.
    ///
    /// # Errors
    /// [`Declined`] with the reason and the whole report.
    fn propose(&mut self, ask: &Ask<'_>, subject: &mut dyn Subject) -> Result<Box<Candidate>, Declined>;
}
