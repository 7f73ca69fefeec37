//! The failing program as a port: methods of the Python object `sanare._subject.Subject`.

use std::sync::Arc;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use sanare::core::evidence::{Failure, TwinValue};
use sanare::core::gate::{Answer, Check, Gate};
use sanare::core::port::{Ran, RanState, Store, Subject, SubjectFault};
use sanare::operations::heal::HealRequest;
use sanare::operations::remember::{Kept, calls};

use crate::back::{items, twin_to_python};
use crate::failure::{Origin, dict, flag, get, plain_text, text, whole_failure};
use crate::fork::{Allowance, Child, Fences, Isolation};
use crate::fresh;

/// Remembered calls, read once.
struct Recall {
    read: Box<dyn Fn() -> Vec<Vec<u8>> + Send>,
    found: Option<Vec<Vec<u8>>>,
}

impl std::fmt::Debug for Recall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recall")
    }
}

/// The Python object, asked from a thread that does not hold the interpreter's lock meanwhile.
#[derive(Debug)]
pub struct PySubject {
    object: Py<PyAny>,
    allowance: Allowance,
    fences: Option<Fences>,
    /// The last text that was tried with the real arguments alone, and what came of it.
    tried: Option<(String, Ran)>,
    /// Whole calls that are remembered of the function, read when a candidate comes to them. None: not wanted.
    calls: Option<Recall>,
    /// What must leave at once, such as Ctrl-C during a trial.
    pub interrupted: Option<PyErr>,
}

impl PySubject {
    /// Takes the object.
    pub fn new(object: &Bound<'_, PyAny>, allowance: Allowance) -> Self {
        Self { object: object.clone().unbind(), allowance, fences: None, tried: None, calls: None, interrupted: None }
    }

    /// Lets candidates be asked for the calls that are remembered of the function, if the owner wants that.
    pub fn recall(&mut self, store: &Arc<dyn Store>, request: &HealRequest) {
        let settings = sanare::wire::settings::settings(&request.project_root, &request.options);
        self.calls = settings.ok().and_then(|settings| Kept::of(&settings)).map(|kept| {
            let (store, path) = (Arc::clone(store), request.path.display().to_string());
            let function = request.function.clone();
            Recall { read: Box::new(move || calls(store.as_ref(), &path, &function, kept)), found: None }
        });
    }

    fn ask<T>(
        &mut self,
        question: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, SubjectFault> {
        Python::attach(|py| {
            question(py, self.object.bind(py)).map_err(|error| {
                let fault = SubjectFault(format!("{}", error.get_type(py)));
                // Ctrl-C may come in the midst of an answer: the heal ends, and it leaves.
                if !error.is_instance_of::<PyException>(py) {
                    self.interrupted.get_or_insert(error);
                }
                fault
            })
        })
    }
}

impl Subject for PySubject {
    fn compiles(&mut self, module: &str) -> Result<Option<String>, SubjectFault> {
        self.ask(|_, object| object.call_method1("compiles", (module,))?.extract())
    }

    fn trial(&mut self, module: &str, arguments: Option<&[(String, TwinValue)]>) -> Result<Ran, SubjectFault> {
        Ok(self.run(module, &[arguments])?.pop().unwrap_or_else(|| Ran::ended(RanState::CannotRun, "it was not run")))
    }

    fn trials(&mut self, module: &str, runs: &[Option<&[(String, TwinValue)]>]) -> Result<Vec<Ran>, SubjectFault> {
        // The last layer of a repair was tried with the real arguments already.
        let known = self.tried.as_ref().filter(|(text, _)| text == module).map(|(_, ran)| ran.clone());
        let asked: Vec<_> = runs.iter().copied().filter(|arguments| arguments.is_some() || known.is_none()).collect();
        let mut rans = match asked.len() {
            0 => Vec::new(),
            _ => self.run(module, &asked)?,
        };
        // One of several that ends the child leaves nothing known of the others: each has a child of its own then.
        if rans.len() != asked.len() {
            rans = asked.iter().map(|arguments| self.trial(module, *arguments)).collect::<Result<_, _>>()?;
        }
        let mut rans = rans.into_iter();
        Ok(runs
            .iter()
            .filter_map(|arguments| match (arguments, &known) {
                (None, Some(ran)) => Some(ran.clone()),
                _ => rans.next(),
            })
            .collect())
    }

    fn replay(&mut self, module: &str) -> Result<Vec<Check>, SubjectFault> {
        let milliseconds = u64::try_from(self.allowance.time_left().as_millis()).unwrap_or(u64::MAX);
        let calls = self.calls.as_mut().map(|recall| recall.found.get_or_insert_with(&recall.read).clone());
        self.ask(|py, object| {
            let calls =
                calls.map(|calls| PyList::new(py, calls.iter().map(|call| PyBytes::new(py, call)))).transpose()?;
            let answers = object.call_method1("replay", (module, milliseconds, calls))?;
            Ok(items(&answers).iter().filter_map(|answer| check(answer.cast::<PyDict>().ok()?)).collect())
        })
    }

    fn swap(&mut self, module: &str) -> Result<Option<String>, SubjectFault> {
        self.ask(|_, object| object.call_method1("swap", (module,))?.extract())
    }

    fn moment(&mut self, moment: &str) {
        // A listener that fails changes nothing of the loop.
        let _ = self.ask(|_, object| object.call_method1("moment", (moment,)).map(drop));
    }

    fn ran_from(&mut self, module: &str) {
        // Where this fails the body is not known, and nothing runs again.
        let _ = self.ask(|_, object| object.call_method1("ran_from", (module,)).map(drop));
    }

    fn abandoned(&mut self) -> bool {
        if self.interrupted.is_none() {
            // A signal such as Ctrl-C is the program's: its handler runs, and the heal ends if it raises.
            self.interrupted = Python::attach(|py| py.check_signals().err());
        }
        self.interrupted.is_some() || self.ask(|_, object| object.getattr("abandoned")?.extract()).unwrap_or(false)
    }

    fn unswap(&mut self) -> Result<(), SubjectFault> {
        self.ask(|_, object| object.call_method0("unswap").map(drop))
    }

    fn rerun_unsafe(&mut self) -> Result<Option<String>, SubjectFault> {
        self.ask(|_, object| object.call_method0("rerun_unsafe")?.extract())
    }

    fn rerun(&mut self) -> Result<Result<(), Failure>, SubjectFault> {
        self.ask(|_, object| {
            let answer = object.call_method0("rerun")?;
            match answer.cast::<PyDict>() {
                Ok(described) => Ok(Err(whole_failure(described, Origin::Live))),
                Err(_) => Ok(Ok(())),
            }
        })
    }

    fn members(&mut self, dotted: &[String]) -> Result<Vec<(String, bool)>, SubjectFault> {
        self.ask(|_, object| {
            let found = object.call_method1("members", (dotted.to_vec(),))?.cast_into::<PyDict>()?;
            Ok(found.iter().map(|(name, there)| (plain_text(&name), there.extract().unwrap_or(false))).collect())
        })
    }

    fn versions(&mut self, distributions: &[String]) -> Result<Vec<(String, String)>, SubjectFault> {
        self.ask(|_, object| {
            let found = object.call_method1("versions", (distributions.to_vec(),))?.cast_into::<PyDict>()?;
            Ok(found.iter().map(|(name, version)| (plain_text(&name), plain_text(&version))).collect())
        })
    }
}

impl PySubject {
    /// Runs these in one child. Several that did not all come to an answer give none.
    fn run(&mut self, module: &str, runs: &[Option<&[(String, TwinValue)]>]) -> Result<Vec<Ran>, SubjectFault> {
        let mut fences = self.fences.take();
        let allowance = self.allowance;
        let mut unforked = false;
        let tried = self.ask(|py, object| {
            let arguments = PyList::empty(py);
            for run in runs {
                arguments.append(twins(py, *run)?)?;
            }
            let skipped = |state: RanState, why: &str| Ok(Ok(runs.iter().map(|_| Ran::ended(state, why)).collect()));
            let afresh = |py| {
                let request = object.call_method1("fresh", (module, &arguments))?;
                match request.cast::<PyTuple>() {
                    Ok(request) => Ok(fresh::run(py, request, allowance)),
                    Err(_) => Ok::<_, PyErr>(Child::Ended(RanState::CannotRun, plain_text(&request))),
                }
            };
            if allowance.isolation == Isolation::None {
                return skipped(RanState::NoIsolation, "heal.gates.isolation is none");
            }
            let prepared = object.call_method1("prepare", (module, &arguments))?;
            if let Ok(why) = prepared.cast::<PyString>() {
                let why = why.to_string_lossy();
                return Ok(Ok(runs.iter().map(|_| Ran::ended(RanState::CannotRun, why.as_ref())).collect()));
            }
            if allowance.isolation == Isolation::Auto && object.call_method0("holds_gpu")?.extract()? {
                unforked = true;
            }
            let child = match &fences {
                _ if unforked || allowance.isolation == Isolation::Fresh => afresh(py)?,
                Some(fences) => fences.run(py, &prepared),
                None => {
                    let readable: Vec<String> = object.call_method0("readable")?.extract()?;
                    match Fences::make(&readable, allowance) {
                        Ok(made) => fences.insert(made).run(py, &prepared),
                        Err(child) => child,
                    }
                }
            };
            let child = match child {
                Child::Stuck(_) if allowance.isolation == Isolation::Auto => {
                    // The lock is held still: another fork would stand as long.
                    unforked = true;
                    afresh(py)?
                }
                child => child,
            };
            Ok(match child {
                Child::Sent(bytes, denied) => {
                    let outcomes = object.call_method1("outcome", (PyBytes::new(py, &bytes),))?;
                    let denied: Vec<String> = denied.into_iter().map(str::to_owned).collect();
                    let outcomes = items(&outcomes);
                    Ok(outcomes
                        .iter()
                        .filter_map(|outcome| outcome.cast::<PyDict>().ok())
                        .map(|outcome| Ran { denied: denied.clone(), ..ran(outcome) })
                        .collect())
                }
                Child::Ended(state @ (RanState::NoIsolation | RanState::CannotRun), detail) => {
                    Ok(runs.iter().map(|_| Ran::ended(state, detail.as_str())).collect())
                }
                Child::Stuck(detail) => {
                    Ok(runs.iter().map(|_| Ran::ended(RanState::CannotRun, detail.as_str())).collect())
                }
                Child::Ended(state, detail) if runs.len() == 1 => Ok(vec![Ran::ended(state, detail)]),
                Child::Ended(..) => Ok(Vec::new()),
                Child::Interrupted(error) => Err(error),
            })
        });
        self.fences = fences;
        if unforked {
            self.allowance.isolation = Isolation::Fresh;
        }
        match tried? {
            Err(error) => {
                self.interrupted = Some(error);
                Err(SubjectFault("the program was told to stop".to_owned()))
            }
            Ok(rans) => {
                let rans: Vec<Ran> = rans;
                if let ([None], [ran]) = (runs, rans.as_slice()) {
                    self.tried = Some((module.to_owned(), ran.clone()));
                }
                Ok(rans)
            }
        }
    }
}

fn twins<'py>(py: Python<'py>, arguments: Option<&[(String, TwinValue)]>) -> PyResult<Bound<'py, PyAny>> {
    let Some(arguments) = arguments else { return Ok(py.None().into_bound(py)) };
    let list = PyList::empty(py);
    for (name, twin) in arguments {
        list.append((name, twin_to_python(py, twin)?))?;
    }
    Ok(list.into_any())
}

/// What a child sent back.
fn ran(outcome: &Bound<'_, PyDict>) -> Ran {
    let state = match text(outcome, "state").as_str() {
        "returned" => RanState::Returned,
        "raised" if get(outcome, "denied").is_some() => RanState::Denied,
        "raised" => RanState::Raised,
        "exited" => RanState::Exited,
        _ => RanState::CannotRun,
    };
    Ran {
        state,
        digest: text(outcome, "digest"),
        result_type: text(outcome, "result_type"),
        result_empty: flag(outcome, "result_empty"),
        arguments_changed: flag(outcome, "arguments_changed"),
        failure: dict(outcome, "failure").map(|described| whole_failure(&described, Origin::Child)),
        denied: Vec::new(),
        detail: format!("{}{}", text(outcome, "denied"), text(outcome, "detail")),
    }
}

fn check(answer: &Bound<'_, PyDict>) -> Option<Check> {
    let answered = match text(answer, "answer").as_str() {
        "passed" => Answer::Passed,
        "failed" => Answer::Failed,
        "skipped" => Answer::Skipped,
        _ => return None,
    };
    let gate = if text(answer, "gate") == "trial" { Gate::Trial } else { Gate::Replay };
    Some(Check { gate, name: text(answer, "name"), answer: answered, reason: text(answer, "reason"), micros: 0 })
}
