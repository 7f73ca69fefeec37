//! What a person asks for: answers, taking back, reports, patches.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use sanare::operations::answer::NoAnswer;
use sanare::operations::revert::Revert;
use sanare::operations::show::Show;
use sanare::operations::{answer as answers, incidents, revert as take_back, save_patch as patches};
use sanare::report::Report;

use crate::{back, memory, quietly};

/// An outcome, or the error's kind and words: `unknown`, `not_taken`, `settings`, `store`.
type Told<T> = Result<T, (&'static str, String)>;

/// What a person's call gives Python: a dictionary, or `(kind, message)`.
fn told<'py>(py: Python<'py>, told: Told<serde_json::Value>) -> PyResult<Bound<'py, PyAny>> {
    match told {
        Ok(json) => back::json_to_python(py, &json),
        Err((kind, message)) => Ok((kind, message).into_pyobject(py)?.into_any()),
    }
}

fn json(report: &Report) -> serde_json::Value {
    serde_json::to_value(report).unwrap_or_default()
}

fn store(root: &Path) -> Told<std::sync::Arc<dyn sanare::core::port::Store>> {
    if !sanare::wire::home::store_path(root).exists() {
        return Err(("unknown", "nothing was recorded in this project".to_owned()));
    }
    memory::store_of(root).map_err(|fault| ("store", fault.to_string()))
}

/// Approves or denies what an incident proposes.
#[pyfunction]
pub fn answer<'py>(
    py: Python<'py>,
    root: PathBuf,
    incident: String,
    yes: bool,
    why: String,
) -> PyResult<Bound<'py, PyAny>> {
    let taken = quietly(py, move || {
        let store = store(&root)?;
        let operation = if yes { answers::approve } else { answers::deny };
        let taken = operation(store.as_ref(), &root, &incident, &why).map_err(|error| {
            let kind = match &error {
                NoAnswer::Show(Show::Store(_)) | NoAnswer::Store(_) => "store",
                NoAnswer::Show(_) => "unknown",
                NoAnswer::Settings(_) => "settings",
                NoAnswer::NotTaken(_) => "not_taken",
            };
            (kind, error.to_string())
        })?;
        Ok(json(&taken.report))
    })?;
    told(py, taken)
}

/// A call of the shape that had failed returned, and the code that ran is the file's.
#[pyfunction]
pub fn confirm(py: Python<'_>, root: PathBuf, incident: String) -> PyResult<bool> {
    quietly(py, move || {
        let Ok(store) = store(&root) else { return false };
        let id = sanare::core::id::Id::from_text(incident);
        sanare::operations::confirm::returned(store.as_ref(), &id).unwrap_or(false)
    })
}

/// Takes an applied repair back.
#[pyfunction]
pub fn revert(py: Python<'_>, root: PathBuf, incident: String) -> PyResult<Bound<'_, PyAny>> {
    let taken = quietly(py, move || {
        let store = store(&root)?;
        let report = take_back::revert(store.as_ref(), &incident).map_err(|error| {
            let kind = match &error {
                Revert::Show(Show::Store(_)) | Revert::Store(_) => "store",
                Revert::Show(_) => "unknown",
                _ => "not_taken",
            };
            (kind, error.to_string())
        })?;
        Ok(json(&report))
    })?;
    told(py, taken)
}

/// The newest reports of a project's store, those of one status or outcome only if one is given.
#[pyfunction]
pub fn reports(py: Python<'_>, root: PathBuf, status: Option<String>, limit: usize) -> PyResult<Bound<'_, PyAny>> {
    let found = quietly(py, move || {
        let store = match store(&root) {
            Err(("unknown", _)) => return Ok(serde_json::Value::Array(Vec::new())),
            other => other?,
        };
        let found = incidents::incidents(store.as_ref(), status.as_deref(), limit);
        let found = found.map_err(|fault| ("store", fault.to_string()))?;
        Ok(serde_json::Value::Array(found.iter().map(json).collect()))
    })?;
    told(py, found)
}

/// A report as readable text, from its JSON.
#[pyfunction]
pub fn report_text(py: Python<'_>, report: String) -> PyResult<String> {
    quietly(py, move || serde_json::from_str::<Report>(&report).map(|report| report.to_text()).unwrap_or_default())
}

/// Makes a patch for a text file of the project; gives both files' paths.
#[pyfunction]
pub fn save_patch(
    py: Python<'_>,
    root: PathBuf,
    folder: PathBuf,
    path: PathBuf,
    text: String,
    why: String,
) -> PyResult<Bound<'_, PyAny>> {
    let saved = quietly(py, move || {
        let saved = patches::save_patch(&root, &folder, &path, &text, &why);
        let saved = saved.map_err(|error| ("not_taken", error.to_string()))?;
        Ok(serde_json::json!([saved.patch.display().to_string(), saved.sidecar.display().to_string()]))
    })?;
    told(py, saved)
}
