//! Columns: tables in data, as header and rows, and parameters beside their statement.

use super::key::Key;
use crate::redact::entry::is_name_key;
use crate::redact::name::{Name, lexicon};
use serde_json::{Map, Value};

/// The secret columns in `{"columns": [...], "data": [[...]]}`.
pub(super) fn columns_beside(map: &Map<String, Value>, keys: &[Key]) -> Option<Vec<Option<Name>>> {
    if !keys.iter().any(|key| key.rows) {
        return None;
    }
    let (columns, _) = map.values().zip(keys).find(|(value, key)| key.columns && value.is_array())?;
    let names = column_names(columns.as_array()?)?;
    names.iter().any(Option::is_some).then_some(names)
}

/// The secret parameters of a statement that stands beside them.
pub(super) fn parameters_beside(map: &Map<String, Value>, keys: &[Key]) -> Option<Vec<Option<Name>>> {
    let (statement, _) = map.values().zip(keys).find(|(_, key)| key.statement)?;
    let statement = statement.as_str()?;
    let names = crate::redact::sql::parameter_names(statement);
    names.iter().any(Option::is_some).then_some(names)
}

fn column_names(columns: &[Value]) -> Option<Vec<Option<Name>>> {
    columns
        .iter()
        .map(|column| match column {
            Value::String(name) => Some(lexicon().name(name)),
            Value::Object(map) => Some(
                map.iter().filter(|(key, _)| is_name_key(key)).find_map(|(_, name)| lexicon().name(name.as_str()?)),
            ),
            _ => None,
        })
        .collect()
}

/// The secret columns of a list of rows whose first row is the header.
pub(super) fn header_columns(items: &[Value]) -> Option<Vec<Option<Name>>> {
    let (Value::Array(header), Some(Value::Array(second))) = (items.first()?, items.get(1)) else { return None };
    if header.len() < 2
        || header.len() != second.len()
        || !header.iter().all(Value::is_string)
        || header.len() == 2 && items.len() == 2
    {
        return None;
    }
    let names = column_names(header)?;
    let second_is_value = header.len() == 2 && names[0].is_some();
    (names.iter().any(Option::is_some) && !second_is_value).then_some(names)
}
