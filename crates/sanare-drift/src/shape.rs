//! One model of shape for what a call holds: names, order, types, formats, never a cell value (C48).

use serde::{Deserialize, Serialize};

use crate::profile::Profile;

/// The shape of one good call's arguments and result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallShape {
    /// By parameter name, in order.
    pub arguments: Vec<(String, Shape)>,
    /// The result.
    pub result: Option<Shape>,
}

/// The shape of one value, or of the file that it names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "snake_case")]
pub enum Shape {
    /// Rows and columns, in text, in a file, in a workbook, in a data frame.
    Table(TableShape),
    /// Nested mappings and lists.
    Object(ObjectShape),
    /// Anything else, by its Python type.
    Other {
        /// Dotted type name.
        type_name: String,
    },
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TableShape {
    /// Where it came from: `csv`, `xlsx`, `frame`, `rows` (a list of mappings).
    pub container: String,
    /// Encoding of the bytes, such as `utf-8`; empty for values in memory.
    pub encoding: String,
    /// Whether a byte order mark stood first.
    pub bom: bool,
    /// Field delimiter; empty where there is none.
    pub delimiter: String,
    /// Sheet names of a workbook and the one that was read.
    pub sheets: Vec<String>,
    /// Rows above the header.
    pub rows_above: usize,
    /// Column names in order, and what their values looked like.
    pub columns: Vec<(String, Profile)>,
}

/// A node of nested data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "node", rename_all = "snake_case")]
pub enum ObjectShape {
    /// A mapping: keys in order, each with its shape and whether every member of a list had it.
    Map {
        /// The keys.
        keys: Vec<(String, ObjectShape, bool)>,
    },
    /// A list whose members share this shape (merged over all of them); `None` when it was empty.
    List {
        /// Shape of the members.
        member: Option<Box<ObjectShape>>,
    },
    /// A leaf: number, text, boolean, null.
    Leaf {
        /// What its values looked like.
        profile: Profile,
    },
}

/// The shape of a call: what the arguments hold, read as the function reads them.
pub fn shape_of_call(
    _source: &str,
    _function: &str,
    arguments: &[crate::problem::Argument],
    result: Option<&sanare_core::value::Value>,
) -> CallShape {
    let of = |value: &sanare_core::value::Value| Shape::Other { type_name: value.type_name().to_owned() };
    CallShape {
        arguments: arguments.iter().map(|argument| (argument.name.clone(), of(&argument.value))).collect(),
        result: result.map(of),
    }
}
