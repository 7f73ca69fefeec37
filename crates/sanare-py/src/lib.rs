//! The Python door: module `sanare._sanare`, a handful of functions over plain dictionaries.
//!
//! What does not live here: decisions, files, SQL. Python objects are read bounded and without running the owner's code,
//! the face does the work without the interpreter's lock, and its answer goes back as plain data.

mod back;
mod capture;
mod convert;
mod failure;
mod fork;
mod fresh;
mod memory;
mod person;
mod request;
mod rows;
mod service;
mod settings;
mod subject;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sanare::core::port::RanState;
use sanare::operations::remember::{Kept, Remember};
use sanare::report::Report;

use crate::convert::{Limits, Reader};
use crate::failure::text;
use crate::fork::{Allowance, Child, Fences, Isolation};
use crate::subject::PySubject;

/// Heals one failing call; the answer is the report.
#[pyfunction]
fn heal<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
    subject: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let request = request::heal_request(request);
    let mut subject = PySubject::new(subject, allowance(&request.project_root, &request.options));
    let (report, interrupted) = quietly(py, move || {
        let report = match memory::store_of(&request.project_root) {
            Ok(store) => {
                subject.recall(&store, &request);
                sanare::operations::heal::heal(store.as_ref(), request, &mut subject)
            }
            Err(fault) => without_store(&request.function, &fault.to_string()),
        };
        (report, subject.interrupted.take())
    })?;
    if let Some(error) = interrupted {
        return Err(error);
    }
    let mut json = serde_json::to_value(&report).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    // For the host alone: no field of the report that its owner sees.
    json["goes_outward"] = report.goes_outward.into();
    back::json_to_python(py, &json)
}

/// What the settings allow a trial. Broken settings refuse the whole heal, so that the defaults do no harm here.
fn allowance(root: &Path, options: &[(String, serde_json::Value)]) -> Allowance {
    let Ok(settings) = sanare::wire::settings::settings(root, options) else { return Allowance::default() };
    Allowance {
        time: Duration::from_millis(settings.number("heal.gates.trial_time")),
        memory: settings.number("heal.gates.trial_memory"),
        accept_unisolated: settings.flag("heal.gates.accept_unisolated"),
        isolation: Isolation::from_word(settings.text("heal.gates.isolation")),
        deadline: Some(Instant::now() + Duration::from_millis(settings.number("heal.deadline"))),
    }
}

/// One question in a child: the bytes that it answers, or how it ended and in which words.
#[pyfunction]
#[pyo3(signature = (prepared, readable, limits=None))]
fn in_child<'py>(
    py: Python<'py>,
    prepared: &Bound<'py, PyAny>,
    readable: Vec<String>,
    limits: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut allowance = Allowance::default();
    if let Some(seconds) = limits.and_then(|limits| failure::integer(limits, "milliseconds")) {
        allowance.time = Duration::from_millis(u64::try_from(seconds).unwrap_or(0));
    }
    let child = match Fences::make(&readable, allowance) {
        Ok(fences) => fences.run(py, prepared),
        Err(child) => child,
    };
    match child {
        Child::Sent(bytes, _) => PyBytes::new(py, &bytes).into_bound_py_any(py),
        Child::Ended(state, detail) => (format!("{state:?}"), detail).into_bound_py_any(py),
        Child::Stuck(detail) => (format!("{:?}", RanState::CannotRun), detail).into_bound_py_any(py),
        Child::Interrupted(error) => Err(error),
    }
}

/// Without a store there is nothing to lease and nothing to undo from: the call is left alone (C3).
fn without_store(function: &str, why: &str) -> Report {
    Report {
        status: "closed".to_owned(),
        outcome: "escalated".to_owned(),
        reason: "internal".to_owned(),
        summary: format!("the store cannot be used: {why}"),
        function: function.to_owned(),
        ..Report::default()
    }
}

/// How long a store may be locked without a sign of work in it before a look at a good call is given up.
const LOOK_STILL_MS: u64 = 5;

/// Keeps the shape of a good call, and its values where that is wanted. Gives the incident whose repair it confirms, if
/// the code that ran is the file's, and why the values were not kept.
#[pyfunction]
fn remember(py: Python<'_>, call: &Bound<'_, PyDict>) -> PyResult<(Option<String>, Option<String>)> {
    let root = PathBuf::from(text(call, "project_root"));
    let remembered = Remember {
        path: text(call, "path"),
        function: text(call, "function"),
        source: text(call, "source"),
        arguments: request::arguments(call, &mut Reader::new(Limits::LOOK), request::FILE_LOOK),
        result: request::result(call, Limits::LOOK),
        whole: failure::get(call, "whole").and_then(|whole| whole.extract().ok()),
    };
    let options = request::options(call);
    quietly(py, move || {
        // Broken settings remember nothing: they might have forbidden it.
        let settings = sanare::wire::settings::settings(&root, &options);
        let Some(settings) = settings.ok().filter(|settings| settings.text("heal.remember") != "off") else {
            return Ok((None, None));
        };
        let store = memory::store_of(&root).map_err(|fault| fault.to_string())?;
        // A good call waits for nobody: another one will be remembered.
        if store.turn(LOOK_STILL_MS).is_err() {
            return Ok((None, None));
        }
        let (shapes, kept) = (sanare::operations::remember::shapes(&settings), Kept::of(&settings));
        let done = sanare::operations::remember::remember(store.as_ref(), &remembered, shapes, kept);
        let done = done.map_err(|fault| fault.to_string())?;
        Ok::<_, String>((done.confirms.map(|id| id.to_string()), done.not_kept))
    })?
    .map_err(PyRuntimeError::new_err)
}

/// Forgets the shapes and calls of one function, or of all of the project; gives how many there were.
#[pyfunction]
#[pyo3(signature = (project_root, path=None, function=None))]
fn forget(py: Python<'_>, project_root: PathBuf, path: Option<PathBuf>, function: Option<String>) -> PyResult<u64> {
    quietly(py, move || {
        if !sanare::wire::home::store_path(&project_root).exists() {
            return Ok(0);
        }
        let store = memory::store_of(&project_root).map_err(|fault| fault.to_string())?;
        let function = path.as_deref().zip(function.as_deref());
        sanare::operations::forget::forget(store.as_ref(), function).map_err(|fault| fault.to_string())
    })?
    .map_err(PyRuntimeError::new_err)
}

/// The project's folder and name for a source file.
#[pyfunction]
fn project_of(path: PathBuf) -> (String, String) {
    let project = request::project_of_file(&path);
    (project.root.to_string_lossy().into_owned(), project.name())
}

/// A value as bounded plain data, for what a trial's child sends.
#[pyfunction]
fn plain<'py>(py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    back::to_python(py, &Reader::new(Limits::LOCALS).read(value))
}

/// A text without its secrets.
#[pyfunction]
#[pyo3(signature = (text, personal = false))]
fn redact_text(py: Python<'_>, text: &str, personal: bool) -> PyResult<String> {
    quietly(py, || sanare::operations::redact::text(text, personal))
}

/// A JSON text without its secrets.
#[pyfunction]
#[pyo3(signature = (text, personal = false))]
fn redact_json(py: Python<'_>, text: &str, personal: bool) -> PyResult<String> {
    quietly(py, || sanare::operations::redact::json_text(text, personal))?.map_err(PyValueError::new_err)
}

/// The command line; gives its exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>, python: PathBuf) -> PyResult<i32> {
    let arguments = std::iter::once(OsString::from("sanare")).chain(arguments).collect();
    quietly(py, move || sanare_cli::run(arguments, Some(python)))
}

/// Runs without the interpreter's lock. A panic of ours becomes an ordinary exception, which the caller logs: as it is
/// it would pass every `except Exception` of the owner's program.
pub(crate) fn quietly<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|_| PyRuntimeError::new_err("sanare panicked"))
}

/// The Rust half of Sanare.
#[pymodule(gil_used = false)]
fn _sanare(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(heal, module)?)?;
    module.add_function(wrap_pyfunction!(remember, module)?)?;
    module.add_function(wrap_pyfunction!(forget, module)?)?;
    module.add_function(wrap_pyfunction!(capture::capture, module)?)?;
    module.add_function(wrap_pyfunction!(settings::settings, module)?)?;
    module.add_function(wrap_pyfunction!(in_child, module)?)?;
    module.add_function(wrap_pyfunction!(fresh::shut_in, module)?)?;
    module.add_function(wrap_pyfunction!(plain, module)?)?;
    module.add_function(wrap_pyfunction!(project_of, module)?)?;
    module.add_function(wrap_pyfunction!(redact_text, module)?)?;
    module.add_function(wrap_pyfunction!(redact_json, module)?)?;
    module.add_function(wrap_pyfunction!(service::words, module)?)?;
    module.add_class::<service::NativeExport>()?;
    module.add_class::<service::NativeHealer>()?;
    module.add_class::<service::NativeService>()?;
    module.add_function(wrap_pyfunction!(person::answer, module)?)?;
    module.add_function(wrap_pyfunction!(person::confirm, module)?)?;
    module.add_function(wrap_pyfunction!(person::revert, module)?)?;
    module.add_function(wrap_pyfunction!(person::reports, module)?)?;
    module.add_function(wrap_pyfunction!(person::report_text, module)?)?;
    module.add_function(wrap_pyfunction!(person::save_patch, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    Ok(())
}
