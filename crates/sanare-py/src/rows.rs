//! Rows of the owner's program as columns of cells. Nothing of the owner's is called but what gives numbers and items.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyFloat, PyString};
use sanare::core::service::profile::Role;
use sanare::service::{Cell, Cells};

/// Characters of a word that is kept as it is; a longer one counts by its beginning and its length.
const WORD: usize = 500;

/// Columns from dictionaries of names and values.
///
/// # Errors
/// `ValueError` for a name that is no text and values that are no column.
pub fn columns(features: &Bound<'_, PyDict>, predictions: &Bound<'_, PyDict>) -> PyResult<Vec<Cells>> {
    let mut all = Vec::new();
    for (dict, role) in [(features, Role::Feature), (predictions, Role::Prediction)] {
        for (name, values) in dict.iter() {
            let name = name.cast::<PyString>().ok().and_then(|name| name.to_str().ok().map(str::to_owned));
            let Some(name) = name else { return Err(PyValueError::new_err("a column's name is no text")) };
            let flat = values.is_instance_of::<PyString>()
                || values.is_instance_of::<PyBytes>()
                || values.is_instance_of::<PyByteArray>()
                || values.is_instance_of::<PyDict>();
            if flat {
                return Err(PyValueError::new_err(format!("`{name:.80}` is no column: a list of values, one a row")));
            }
            let items = values.try_iter();
            let items = items.map_err(|_| PyValueError::new_err(format!("`{name:.80}` is no column")))?;
            let cells: Result<Vec<Cell>, PyErr> = items.map(|item| item.map(|item| cell(&item))).collect();
            let cells = cells.map_err(|_| PyValueError::new_err(format!("`{name:.80}` cannot be read")))?;
            all.push(Cells { name, role, cells });
        }
    }
    Ok(all)
}

/// One value. What is neither number nor text counts by the name of its type.
fn cell(value: &Bound<'_, PyAny>) -> Cell {
    if value.is_none() {
        return Cell::Null;
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        return Cell::Number(float.value());
    }
    if let Ok(text) = value.cast::<PyString>() {
        let Ok(text) = text.to_str() else { return Cell::Word("<text>".to_owned()) };
        let mut start = text.chars();
        let begin: String = start.by_ref().take(WORD).collect();
        let rest = start.count();
        return Cell::Word(if rest == 0 { begin } else { format!("{begin}… and {rest} more") });
    }
    if let Ok(number) = value.extract::<f64>() {
        return Cell::Number(number);
    }
    let name = value.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    match name.as_str() {
        // What pandas has for a value that is not there.
        "NAType" | "NaTType" => Cell::Null,
        _ => Cell::Word(format!("<{name:.100}>")),
    }
}
