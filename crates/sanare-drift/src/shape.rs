//! One model of shape for what a call holds: names, order, types, formats, never a cell value (C48).

use std::collections::BTreeSet;

use sanare_core::value::Value;
use sanare_source::parse::Source;
use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::object_shape;
use crate::problem::{Argument, Problem};
use crate::profile::Profile;
use crate::table::encoding::Found;
use crate::table::mapping::profile_of;
use crate::table::{Tables, View};

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
    /// Sheet names of a workbook, the one that was read first.
    pub sheets: Vec<String>,
    /// Rows above the header.
    pub rows_above: usize,
    /// Column names in order, and what their values looked like.
    pub columns: Vec<(String, Profile)>,
    /// Currencies that columns of currency codes named (`eur`).
    #[serde(default)]
    pub currencies: Vec<String>,
    /// Letters and signs beyond ASCII that occurred, each once, sorted; at most 64.
    #[serde(default)]
    pub letters: String,
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
pub fn shape_of_call(source: &str, function: &str, arguments: &[Argument], result: Option<&Value>) -> CallShape {
    let problem = Problem { arguments: arguments.to_vec(), ..Problem::default() };
    let parsed = Source::parse(source).ok();
    let target = parsed.as_ref().and_then(|source| Some((source, source.function_at(function, 0)?)));
    let tables = target.map(|(source, target)| Tables::of(&problem, Code::of(source, target)));
    let views: Vec<&View> = tables.iter().flat_map(|tables| tables.views.iter().flatten()).collect();
    let mut shapes = Vec::new();
    for argument in arguments {
        let shape = match views.iter().find(|view| view.argument.name == argument.name) {
            Some(view) => Shape::Table(table_shape(view)),
            None => object_shape::of_argument(argument).map_or_else(|| shape_of(&argument.value), Shape::Object),
        };
        shapes.push((argument.name.clone(), shape));
    }
    CallShape { arguments: shapes, result: result.map(shape_of) }
}

/// The shape of a value in memory.
fn shape_of(value: &Value) -> Shape {
    if matches!(value, Value::Map(_) | Value::List(_)) {
        return Shape::Object(object_shape::of(value));
    }
    Shape::Other { type_name: value.type_name().to_owned() }
}

fn table_shape(view: &View) -> TableShape {
    let text = view.sheets.is_empty();
    let encoding = match view.encoding {
        Found::Other(name) => name.to_owned(),
        _ => view.declared_encoding.clone(),
    };
    let letters: BTreeSet<char> = view
        .rows
        .iter()
        .flatten()
        .filter_map(Value::as_text)
        .flat_map(str::chars)
        .filter(|letter| !letter.is_ascii() && !letter.is_control())
        .collect();
    let mut sheets = view.sheets.clone();
    if let Some(read) = view.sheet.as_ref().and_then(|read| sheets.iter().position(|name| name == read)) {
        sheets.swap(0, read);
    }
    TableShape {
        container: if text { "csv" } else { "xlsx" }.to_owned(),
        encoding: if view.argument.file.is_some() && text { encoding } else { String::new() },
        bom: view.encoding == Found::Bom,
        delimiter: if text { view.delimiter.to_string() } else { String::new() },
        sheets,
        rows_above: view.header_row,
        columns: view.header.iter().enumerate().map(|(place, name)| (name.clone(), profile_of(view, place))).collect(),
        currencies: crate::kind::units::beside(view),
        letters: letters.into_iter().take(64).collect(),
    }
}
