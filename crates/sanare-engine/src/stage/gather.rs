//! Opened to evident: the host has taken the evidence before it called; the record of it is this step's own.

use sanare_core::step::Step;

/// The evidence is recorded with the step itself.
pub(crate) fn gather() -> Step {
    Step::Evident
}
