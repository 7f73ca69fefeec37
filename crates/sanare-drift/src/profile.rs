//! What the values of one column or leaf look like, without any value.

use serde::{Deserialize, Serialize};

/// Statistics of form over the values seen. Nothing in it lets a value be read back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Python type of the values: `str`, `int`, `float`, `bool`, `None`; `mixed` when they differ.
    pub type_name: String,
}
