//! `sanare.capture`: one frame to the record.

use std::path::PathBuf;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sanare::core::evidence::{Evidence, Failure};
use sanare::operations::capture::Capture;

use crate::convert::Reader;
use crate::failure::{Origin, frames, get, integer, text};
use crate::{LOOK_STILL_MS, memory, quietly, request};

/// Records the frame that the request describes; its id, and why the extra file could not be written if it could not.
#[pyfunction]
pub fn capture(py: Python<'_>, request: &Bound<'_, PyDict>) -> PyResult<(String, Option<String>)> {
    let root = PathBuf::from(text(request, "project_root"));
    let settings = sanare::wire::settings::settings(&root, &[]).map_err(|troubles| {
        // What stands in broken settings might have forbidden it.
        let all: Vec<String> = troubles.iter().map(ToString::to_string).collect();
        PyRuntimeError::new_err(all.join("; "))
    })?;
    let mut reader = Reader::new(request::evidence_limits(&settings));
    let frames = get(request, "frames").map(|list| frames(&list, Some(&mut reader), Origin::Live)).unwrap_or_default();
    let capture = Capture {
        project_root: root,
        label: text(request, "label"),
        function: text(request, "function"),
        path: text(request, "path"),
        line: integer(request, "line").and_then(|line| usize::try_from(line).ok()).unwrap_or(0),
        evidence: Evidence {
            failure: Failure { frames, ..Failure::default() },
            globals: request::globals(request, &mut reader),
            environment: request::environment(&settings),
            logs: request::logs(request),
            python: request::version(request),
            ..Evidence::default()
        },
    };
    let done = quietly(py, move || {
        let store = memory::store_of(&capture.project_root)?;
        store.turn(LOOK_STILL_MS)?;
        sanare::operations::capture::capture(store.as_ref(), &settings, &capture)
    })?;
    let (id, trouble) = done.map_err(|fault| PyRuntimeError::new_err(fault.to_string()))?;
    Ok((id.to_string(), trouble.map(|trouble| trouble.to_string())))
}
