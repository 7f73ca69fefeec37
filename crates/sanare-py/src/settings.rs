//! Settings for Python: every key with its value and where it came from, or everything that is wrong.

use std::path::PathBuf;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sanare::core::settings::Origin;

use crate::back::json_to_python;
use crate::request;

/// The effective settings of a project with the decorator's options on top: a mapping from key to `(value, origin)`, or
/// a list of troubles. Durations are in milliseconds and sizes in bytes.
#[pyfunction]
#[pyo3(signature = (project_root, options=None))]
pub fn settings<'py>(
    py: Python<'py>,
    project_root: PathBuf,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = PyDict::new(py);
    given.set_item("options", options)?;
    match sanare::wire::settings::settings(&project_root, &request::options(&given)) {
        Ok(settings) => {
            let rows = PyDict::new(py);
            for (path, value, origin) in settings.rows() {
                rows.set_item(path, (json_to_python(py, value)?, whence(origin)))?;
            }
            rows.into_bound_py_any(py)
        }
        Err(troubles) => Ok(PyList::new(py, troubles.iter().map(ToString::to_string))?.into_any()),
    }
}

fn whence(origin: &Origin) -> String {
    match origin {
        Origin::Decorator => "decorator".to_owned(),
        Origin::Variable { name } => name.clone(),
        Origin::File { path, line } => format!("{path}:{line}"),
        Origin::Default => "default".to_owned(),
    }
}
