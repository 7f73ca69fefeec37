//! Core's values to Python objects: made-up arguments for a replay, and the plain data that a trial's child sends.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use sanare::core::evidence::TwinValue;
use sanare::core::value::{Column, Table, Value};

/// Marks in plain data: tuples that begin with one of these stand for values that Python has no plain form of.
const OPAQUE: &str = "\0sanare.opaque";
const CUT: &str = "\0sanare.cut";
const TABLE: &str = "\0sanare.table";

/// A value as built-in objects. What has no such form becomes a marked tuple.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(flag) => flag.into_bound_py_any(py),
        Value::Int(number) => number.into_bound_py_any(py),
        Value::Float(number) => number.into_bound_py_any(py),
        Value::Text(text) => text.into_bound_py_any(py),
        Value::Bytes(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
        Value::List(items) => list(py, items),
        Value::Map(entries) => {
            let dict = PyDict::new(py);
            for (key, item) in entries {
                dict.set_item(key, to_python(py, item)?)?;
            }
            Ok(dict.into_any())
        }
        Value::Opaque(name) => (OPAQUE, name).into_bound_py_any(py),
        Value::Cut(count) => (CUT, *count).into_bound_py_any(py),
        Value::Table(table) => {
            let columns = PyList::empty(py);
            for column in &table.columns {
                columns.append((&column.name, &column.dtype, list(py, &column.cells)?))?;
            }
            (TABLE, columns, table.rows).into_bound_py_any(py)
        }
    }
}

fn list<'py>(py: Python<'py>, items: &[Value]) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for item in items {
        list.append(to_python(py, item)?)?;
    }
    Ok(list.into_any())
}

/// A made-up argument: `("file", name, bytes)` or `("value", value)`. `None` when it has no Python form.
pub fn twin_to_python<'py>(py: Python<'py>, twin: &TwinValue) -> PyResult<Bound<'py, PyAny>> {
    match twin {
        TwinValue::File { name, bytes } => ("file", name, PyBytes::new(py, bytes)).into_bound_py_any(py),
        TwinValue::Value(value) => ("value", to_python(py, value)?).into_bound_py_any(py),
    }
}

/// Undoes [`to_python`] for data that this process itself made: marked tuples become what they stand for.
pub fn unmark(value: Value) -> Value {
    match value {
        Value::List(items) => match items.as_slice() {
            [Value::Text(mark), Value::Text(name)] if mark == OPAQUE => Value::Opaque(name.clone()),
            [Value::Text(mark), Value::Int(count)] if mark == CUT => Value::Cut(usize::try_from(*count).unwrap_or(0)),
            [Value::Text(mark), Value::List(columns), Value::Int(rows)] if mark == TABLE => Value::Table(Table {
                columns: columns.iter().filter_map(column).collect(),
                rows: usize::try_from(*rows).unwrap_or(0),
            }),
            _ => Value::List(items.into_iter().map(unmark).collect()),
        },
        Value::Map(entries) => Value::Map(entries.into_iter().map(|(key, item)| (key, unmark(item))).collect()),
        other => other,
    }
}

fn column(value: &Value) -> Option<Column> {
    match value.as_list()? {
        [Value::Text(name), Value::Text(dtype), Value::List(cells)] => Some(Column {
            name: name.clone(),
            dtype: dtype.clone(),
            cells: cells.iter().cloned().map(unmark).collect(),
        }),
        _ => None,
    }
}

/// A JSON value as Python objects.
pub fn json_to_python<'py>(py: Python<'py>, json: &serde_json::Value) -> PyResult<Bound<'py, PyAny>> {
    use serde_json::Value as Json;
    match json {
        Json::Null => Ok(py.None().into_bound(py)),
        Json::Bool(flag) => flag.into_bound_py_any(py),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into_bound_py_any(py),
            (None, Some(number)) => number.into_bound_py_any(py),
            (None, None) => number.as_f64().into_bound_py_any(py),
        },
        Json::String(text) => text.into_bound_py_any(py),
        Json::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(json_to_python(py, item)?)?;
            }
            Ok(list.into_any())
        }
        Json::Object(entries) => {
            let dict = PyDict::new(py);
            for (key, item) in entries {
                dict.set_item(key, json_to_python(py, item)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// Pairs of a tuple or list, for arguments that come as `(name, …)`.
pub fn items<'py>(value: &Bound<'py, PyAny>) -> Vec<Bound<'py, PyAny>> {
    if let Ok(list) = value.cast::<PyList>() {
        list.iter().collect()
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        tuple.iter().collect()
    } else {
        Vec::new()
    }
}
