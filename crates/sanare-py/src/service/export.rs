//! An export under way, page by page: never more than a page is in memory.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use sanare::service::Export;

use super::{failed, plain};
use crate::quietly;

/// Lines of a page.
const PAGE: usize = 500;

/// What is still to be given.
#[pyclass(frozen, name = "NativeExport", module = "sanare._sanare")]
pub struct NativeExport(Mutex<Export>);

impl NativeExport {
    pub fn of(export: Export) -> Self {
        Self(Mutex::new(export))
    }
}

#[pymethods]
impl NativeExport {
    /// The next lines; none where it is over.
    fn page<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let next = || {
            let mut export = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            export.by_ref().take(PAGE).collect::<Result<Vec<_>, _>>()
        };
        let page = quietly(py, next)?.map_err(failed)?;
        plain(py, &page)
    }
}
