//! Captured values in memory: a bounded, plain picture of what a Python call held.
//!
//! A [`Value`] is raw: it may hold a secret. It stays in the memory of the failing process, is what the drift engine
//! compares, and never enters the ledger; only [`crate::redact`] makes text of it that may leave.

pub mod json;

/// One value as it was seen, bounded by whoever captured it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `None`.
    #[default]
    Null,
    /// `True` or `False`.
    Bool(bool),
    /// An integer that fits into 64 bits; others are [`Value::Opaque`].
    Int(i64),
    /// A float, `nan` and infinities included.
    Float(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A list or tuple (or the items of a set, sorted by their text).
    List(Vec<Value>),
    /// A mapping with text keys, in its own order. Keys of other types are written as their Python literal.
    Map(Vec<(String, Value)>),
    /// A table (pandas and the like): columns with their values by row, as far as captured.
    Table(Table),
    /// Anything else, by its dotted type name.
    Opaque(String),
    /// What was left out to keep the capture small: how many items there were in all.
    Cut(usize),
}

/// A captured table: named columns with their type and the captured rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The columns in order.
    pub columns: Vec<Column>,
    /// Number of rows in the whole table, captured or not.
    pub rows: usize,
}

/// A column of a captured [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The header.
    pub name: String,
    /// The library's own name of the type, such as `int64` or `object`.
    pub dtype: String,
    /// The captured cells, first rows first.
    pub cells: Vec<Value>,
}

impl Value {
    /// The text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The entries, if it is a mapping.
    pub fn as_map(&self) -> Option<&[(String, Value)]> {
        match self {
            Self::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value behind a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The Python type name of the value, as people say it.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Null => "None",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "str",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "dict",
            Self::Table(_) => "table",
            Self::Opaque(name) => name,
            Self::Cut(_) => "cut",
        }
    }
}

impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(flag) => Self::Bool(*flag),
            serde_json::Value::Number(number) => {
                number.as_i64().map_or_else(|| Self::Float(number.as_f64().unwrap_or(f64::NAN)), Self::Int)
            }
            serde_json::Value::String(text) => Self::Text(text.clone()),
            serde_json::Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            serde_json::Value::Object(map) => {
                Self::Map(map.iter().map(|(key, value)| (key.clone(), Self::from(value))).collect())
            }
        }
    }
}
