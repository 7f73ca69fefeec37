//! Tables and arrays of pandas, polars, pyarrow and numpy: their shape and a corner of what they hold (C36).
//!
//! Recognised without importing the library; only its own classes are asked, and nothing is computed or copied whole.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyType};
use sanare::core::value::{Column, Table, Value};

use super::{Reader, type_name};

/// Rows up to which a table is read as a whole.
const FEW: usize = 10;

impl Reader {
    /// Tables and arrays, of exactly the library's own classes.
    pub(super) fn library(&mut self, value: &Bound<'_, PyAny>, name: &str) -> Option<Value> {
        match name {
            "pandas.DataFrame" | "pandas.core.frame.DataFrame" => self.pandas_table(value),
            "pandas.Series" | "pandas.core.series.Series" | "pandas.Index" | "pandas.core.indexes.base.Index" => {
                self.rows_of(&value.getattr("array").ok()?, value.len().ok()?)
            }
            "polars.DataFrame" | "polars.dataframe.frame.DataFrame" => self.polars_table(value),
            "pyarrow.lib.Table" => self.arrow_table(value),
            "numpy.ndarray" => {
                let length = value.len().ok()?;
                self.rows_of(value, length)
            }
            _ if name.starts_with("numpy.") && value.hasattr("item").ok()? => {
                let plain = value.call_method0("item").ok()?;
                // A scalar that has no plain form gives itself back.
                if type_name(&plain.get_type()) == name { None } else { Some(self.read(&plain)) }
            }
            _ => None,
        }
    }

    fn rows_of(&mut self, array: &Bound<'_, PyAny>, length: usize) -> Option<Value> {
        let rows = length.min(self.limits.rows);
        let head = array.get_item(pyo3::types::PySlice::new(array.py(), 0, isize::try_from(rows).ok()?, 1)).ok()?;
        let Value::List(mut items) = self.read(&head.call_method0("tolist").ok()?) else { return None };
        if rows < length {
            items.push(Value::Cut(length));
        }
        Some(Value::List(items))
    }

    fn pandas_table(&mut self, frame: &Bound<'_, PyAny>) -> Option<Value> {
        let py = frame.py();
        let rows = frame.getattr("index").ok()?.len().ok()?;
        // The corner that is read is cut out first, without a copy: a table may be wide as well as long.
        let part = |limit: usize| pyo3::types::PySlice::new(py, 0, isize::try_from(limit).unwrap_or(isize::MAX), 1);
        let corner = (part(rows.min(self.limits.rows)), part(self.limits.columns));
        let head = frame.getattr("iloc").ok()?.get_item(corner).ok()?;
        let names = head.getattr("columns").ok()?.call_method0("tolist").ok()?.cast_into::<PyList>().ok()?;
        let dtypes = head.getattr("dtypes").ok()?.call_method0("tolist").ok()?.cast_into::<PyList>().ok()?;
        if self.limits.rows <= FEW {
            return self.few_rows(&head, &names, &dtypes, rows);
        }
        let mut columns = Vec::new();
        for place in 0..names.len() {
            if self.spent() {
                break;
            }
            let label = names.get_item(place).ok()?;
            let dtype = dtypes.get_item(place).ok().and_then(|dtype| dtype.str().ok()).map(|text| text.to_string());
            // By place and not by name: two columns may have the same one.
            let by_place = head.getattr("iloc").ok()?;
            let all = pyo3::types::PySlice::full(head.py());
            let cells = by_place.get_item((all, place)).ok()?.call_method0("tolist").ok()?;
            columns.push(Column {
                name: self.key(&label),
                dtype: dtype.unwrap_or_default(),
                cells: self.cells(&cells),
            });
        }
        Some(Value::Table(Table { columns, rows }))
    }

    /// The cells of a small table in one go: a call for each column costs more than what it holds.
    fn few_rows(
        &mut self,
        head: &Bound<'_, PyAny>,
        names: &Bound<'_, PyList>,
        dtypes: &Bound<'_, PyList>,
        rows: usize,
    ) -> Option<Value> {
        let object = head.py().get_type::<PyAny>();
        let cells = head.call_method1("astype", (object,)).ok()?.getattr("values").ok()?;
        let cells = cells.call_method0("tolist").ok()?.cast_into::<PyList>().ok()?;
        let mut columns = Vec::with_capacity(names.len());
        for (place, label) in names.iter().enumerate() {
            let dtype = dtypes.get_item(place).ok().and_then(|dtype| dtype.str().ok()).map(|text| text.to_string());
            let column = cells.iter().filter_map(|row| row.cast::<PyList>().ok()?.get_item(place).ok());
            columns.push(Column {
                name: self.key(&label),
                dtype: dtype.unwrap_or_default(),
                cells: column.map(|cell| self.read(&cell)).collect(),
            });
        }
        Some(Value::Table(Table { columns, rows }))
    }

    fn polars_table(&mut self, frame: &Bound<'_, PyAny>) -> Option<Value> {
        let rows: usize = frame.getattr("height").ok()?.extract().ok()?;
        let head = frame.call_method1("head", (rows.min(self.limits.rows),)).ok()?;
        let series = head.call_method0("get_columns").ok()?.cast_into::<PyList>().ok()?;
        let mut columns = Vec::new();
        for column in series.iter().take(self.limits.columns) {
            let dtype = column.getattr("dtype").ok().and_then(|dtype| dtype.str().ok()).map(|text| text.to_string());
            let cells = self.cells(&column.call_method0("to_list").ok()?);
            columns.push(Column {
                name: self.key(&column.getattr("name").ok()?),
                dtype: dtype.unwrap_or_default(),
                cells,
            });
        }
        Some(Value::Table(Table { columns, rows }))
    }

    fn arrow_table(&mut self, table: &Bound<'_, PyAny>) -> Option<Value> {
        let rows: usize = table.getattr("num_rows").ok()?.extract().ok()?;
        let head = table.call_method1("slice", (0, rows.min(self.limits.rows))).ok()?;
        let names = table.getattr("column_names").ok()?.cast_into::<PyList>().ok()?;
        let mut columns = Vec::new();
        for (place, name) in names.iter().enumerate().take(self.limits.columns) {
            let column = head.call_method1("column", (place,)).ok()?;
            let dtype = column.getattr("type").ok().and_then(|dtype| dtype.str().ok()).map(|text| text.to_string());
            let cells = self.cells(&column.call_method0("to_pylist").ok()?);
            columns.push(Column { name: self.key(&name), dtype: dtype.unwrap_or_default(), cells });
        }
        Some(Value::Table(Table { columns, rows }))
    }

    fn cells(&mut self, list: &Bound<'_, PyAny>) -> Vec<Value> {
        match self.read(list) {
            Value::List(items) => items,
            _ => Vec::new(),
        }
    }
}

/// Whether a class is the one that its library gives out under this name.
pub(super) fn is_of_library(kind: &Bound<'_, PyType>, name: &str) -> bool {
    let Some((library, _)) = name.split_once('.') else { return false };
    let Some((_, class)) = name.rsplit_once('.') else { return false };
    let py = kind.py();
    let found = || -> PyResult<bool> {
        let modules = py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?;
        let Some(module) = modules.get_item(library)? else { return Ok(false) };
        Ok(module.getattr(class)?.is(kind))
    };
    found().unwrap_or(false)
}
