//! What the values of one column or leaf look like, without any value.

use sanare_core::value::Value;
use serde::{Deserialize, Serialize};

/// Statistics of form over the values seen. Nothing in it lets a value be read back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// Python type of the values: `str`, `int`, `float`, `bool`, `None`; `mixed` when they differ.
    pub type_name: String,
}

impl Profile {
    /// The profile of texts, such as the cells of a CSV column.
    pub fn of_texts<'a>(_texts: impl Iterator<Item = &'a str>) -> Self {
        Self { type_name: "str".to_owned() }
    }

    /// The profile of values, such as the leaves of a JSON reply.
    pub fn of_values<'a>(values: impl Iterator<Item = &'a Value>) -> Self {
        let mut names: Vec<&str> = values.map(Value::type_name).collect();
        names.dedup();
        let type_name = if names.len() == 1 { names[0] } else { "mixed" };
        Self { type_name: type_name.to_owned() }
    }
}
