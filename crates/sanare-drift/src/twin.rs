//! Small synthetic inputs of the old shape, on which old and new body must agree (C93). No real values.

use sanare_core::value::Value;

use crate::problem::Problem;

/// One synthetic call.
#[derive(Clone, Debug, PartialEq)]
pub struct TwinCall {
    /// Arguments by parameter name.
    pub arguments: Vec<(String, TwinValue)>,
    /// What it stands for, such as `4 rows`.
    pub label: String,
}

/// One synthetic argument.
#[derive(Clone, Debug, PartialEq)]
pub enum TwinValue {
    /// A file to write into the trial's folder; the argument is its path.
    File {
        /// Its name.
        name: String,
        /// What is in it.
        bytes: Vec<u8>,
    },
    /// A value in memory.
    Value(Value),
}

/// Synthetic calls of the remembered or implied shape: one of a few rows, one without rows; none when arguments of
/// another sort decide.
pub fn twins(_problem: &Problem) -> Vec<TwinCall> {
    Vec::new()
}
