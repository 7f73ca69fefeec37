//! Service healing for Python: the healer and its clients, as two classes of few methods over plain data.

mod clock;
mod export;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use sanare::core::port::Sort;
use sanare::core::service::declaration::{Undo, Written};
use sanare::core::service::policy::Case;
use sanare::core::service::port::{Intent, Probe};
use sanare::core::service::silence::{Matcher, Test};
use sanare::core::service::target::{Identity, Mark};
use sanare::core::service::{
    Action, Application, Component, Draft, Invalid, Labels, Moment, ObservationKind, ObservedValue, ReceiptState,
    Signal, Version,
};
use sanare::effects::service::callback::End;
use sanare::operations::ledger::Wanted;
use sanare::service::story::story;
use sanare::service::{Asking, Capability, Healer, Hushed, More, Options, Service, Setup, Tools};
use serde_json::Value as Json;

use self::clock::Told;
pub use self::export::NativeExport;
use crate::{back, quietly, rows};

fn failed(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

fn wrong(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn plain<'py>(py: Python<'py>, value: &impl serde::Serialize) -> PyResult<Bound<'py, PyAny>> {
    back::json_to_python(py, &serde_json::to_value(value).map_err(failed)?)
}

/// The healer. Every method that may wait does so without the interpreter's lock.
#[pyclass(frozen, name = "NativeHealer", module = "sanare._sanare")]
pub struct NativeHealer(Healer);

#[pymethods]
impl NativeHealer {
    #[new]
    #[pyo3(signature = (path, folder, clock=None))]
    fn new(py: Python<'_>, path: Option<PathBuf>, folder: PathBuf, clock: Option<Py<PyAny>>) -> PyResult<Self> {
        let made = quietly(py, move || match clock {
            None => Healer::from_config(path.as_deref(), &folder).map_err(|error| error.to_string()),
            Some(clock) => {
                let setup = Setup::find(path.as_deref(), &folder)
                    .map_err(|troubles| troubles.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
                let (store, agent) = setup.open().map_err(|error| error.to_string())?;
                let tools = Tools { store, clock: Arc::new(Told::new(clock)?), agent };
                Healer::with(setup, tools).map_err(|error| error.to_string())
            }
        })?;
        made.map(Self).map_err(wrong)
    }

    /// Why nothing watches a service; `None` where something does.
    fn unwatched(&self, application: &str) -> PyResult<Option<String>> {
        let application = Application::parse(application).map_err(wrong)?;
        Ok(self.0.setup().has(&application).err().map(|unknown| unknown.to_string()))
    }

    fn service(&self, application: &str, component: &str, labels: &Bound<'_, PyDict>) -> PyResult<NativeService> {
        let application = Application::parse(application).map_err(wrong)?;
        let options = Options {
            component: Component::parse(component).map_err(wrong)?,
            labels: Labels::new(labels.extract()?).map_err(wrong)?,
        };
        Ok(NativeService(self.0.service(application, options)))
    }

    fn run_once<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pass = quietly(py, || self.0.run_once())?.map_err(failed)?;
        plain(py, &pass)
    }

    fn run(&self, py: Python<'_>) -> PyResult<()> {
        quietly(py, || self.0.sound())?.map_err(failed)?;
        quietly(py, || self.0.run())
    }

    fn start(&self) -> PyResult<()> {
        self.0.start().map_err(failed)
    }

    fn is_running(&self) -> bool {
        self.0.is_running()
    }

    fn close(&self) {
        self.0.close();
    }

    fn incidents<'py>(&self, py: Python<'py>, limit: usize) -> PyResult<Bound<'py, PyAny>> {
        let all = quietly(py, || self.0.incidents(limit))?.map_err(failed)?;
        let all: Vec<Json> = all
            .iter()
            .map(|one| {
                let mut json = serde_json::to_value(one).unwrap_or_default();
                json["status"] = one.status().word().into();
                json
            })
            .collect();
        plain(py, &all)
    }

    fn incident<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        match quietly(py, || self.0.incident(id))? {
            Ok((incident, records)) => {
                let mut json = serde_json::to_value(&incident).map_err(failed)?;
                json["status"] = incident.status().word().into();
                json["steps"] = records.iter().map(|one| Json::from(one.step.clone())).collect();
                json["story"] = serde_json::to_value(story(&records)).map_err(failed)?;
                json["next"] = self.0.next_for(&incident, &records).into();
                plain(py, &json).map(Some)
            }
            Err(sanare::service::NotFound::Unknown(_)) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    fn pending_approvals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = quietly(py, || self.0.pending_approvals())?.map_err(failed)?;
        plain(py, &all)
    }

    fn undelivered<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = quietly(py, || self.0.undelivered())?.map_err(failed)?;
        plain(py, &all)
    }

    fn intake<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = quietly(py, || self.0.intake())?.map_err(failed)?;
        plain(py, &all)
    }

    #[pyo3(signature = (id, yes, comment, shown=None))]
    fn answer(&self, py: Python<'_>, id: &str, yes: bool, comment: &str, shown: Option<&str>) -> PyResult<String> {
        let operation = if yes { Healer::approve } else { Healer::deny };
        let state = quietly(py, || operation(&self.0, id, comment, shown))?.map_err(failed)?;
        Ok(state.word().to_owned())
    }

    fn propose(&self, py: Python<'_>, incident: &str, action: &str, reason: &str) -> PyResult<()> {
        let action = Action::parse(action).map_err(wrong)?;
        quietly(py, || self.0.propose(incident, action, reason))?.map(drop).map_err(failed)
    }

    /// `acknowledge`, `hold`, `release`, `retry`, `undo`, `close`, `false_alarm`: what a person does about an incident.
    #[pyo3(signature = (verb, incident, reason=""))]
    fn person(&self, py: Python<'_>, verb: &str, incident: &str, reason: &str) -> PyResult<()> {
        let done = quietly(py, || {
            Some(match verb {
                "acknowledge" => self.0.acknowledge(incident),
                "hold" => self.0.hold(incident, true),
                "release" => self.0.hold(incident, false),
                "retry" => self.0.retry(incident),
                "undo" => self.0.undo(incident, reason),
                "close" => self.0.close_incident(incident, reason, false),
                "false_alarm" => self.0.close_incident(incident, reason, true),
                _ => return None,
            })
        })?;
        done.ok_or_else(|| wrong(format!("no verb `{verb}`")))?.map(drop).map_err(failed)
    }

    fn settle(&self, py: Python<'_>, receipt: &str, state: &str, reason: &str) -> PyResult<()> {
        let state = ReceiptState::parse(state).map_err(wrong)?;
        quietly(py, || self.0.settle(receipt, state, reason))?.map(drop).map_err(failed)
    }

    fn stop(&self, py: Python<'_>, application: Option<&str>, reason: &str) -> PyResult<()> {
        let application = application.map(Application::parse).transpose().map_err(wrong)?;
        if let Some(application) = &application {
            self.0.setup().has(application).map_err(failed)?;
        }
        quietly(py, || self.0.stop(application.as_ref(), reason))?.map_err(failed)
    }

    fn start_again(&self, py: Python<'_>, application: Option<&str>, reason: &str) -> PyResult<()> {
        let application = application.map(Application::parse).transpose().map_err(wrong)?;
        quietly(py, || self.0.start_again(application.as_ref(), reason))?.map_err(failed)
    }

    /// Matchers as name, how (`=` one of these texts, `~` a pattern) and texts; times in seconds.
    #[pyo3(signature = (matchers, all, reason, seconds=None, start=None, end=None))]
    fn silence<'py>(
        &self,
        py: Python<'py>,
        matchers: Vec<(String, String, Vec<String>)>,
        all: bool,
        reason: String,
        seconds: Option<f64>,
        start: Option<f64>,
        end: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let matchers = matchers.into_iter().map(matcher).collect::<Result<_, _>>().map_err(wrong)?;
        let length = seconds.map(micros).transpose()?;
        let time = |at: Option<f64>| at.map(|at| micros(at).map(Moment::from_micros)).transpose();
        let asked = Hushed { matchers, all, reason, length, start: time(start)?, end: time(end)? };
        let silence = quietly(py, || self.0.silence(asked))?.map_err(failed)?;
        plain(py, &silence)
    }

    fn silences<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = quietly(py, || self.0.silences())?.map_err(failed)?;
        plain(py, &all)
    }

    fn end_silence<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
        let silence = quietly(py, || self.0.end_silence(id))?.map_err(failed)?;
        plain(py, &silence)
    }

    #[pyo3(signature = (application=None))]
    fn lift_storm(&self, py: Python<'_>, application: Option<&str>) -> PyResult<()> {
        let application = application.map(Application::parse).transpose().map_err(wrong)?;
        quietly(py, || self.0.lift_storm(application.as_ref()))?.map(drop).map_err(failed)
    }

    #[pyo3(signature = (application=None, since=None))]
    fn replay<'py>(
        &self,
        py: Python<'py>,
        application: Option<&str>,
        since: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let application = application.map(Application::parse).transpose().map_err(wrong)?;
        let since = since.map(|since| micros(since).map(Moment::from_micros)).transpose()?;
        let healer = &self.0;
        let replay = || healer.setup().replay_detection_in(healer.store(), application.as_ref(), since);
        let detected = quietly(py, replay)?.map_err(failed)?;
        plain(py, &detected)
    }

    /// Reads the configuration again; what changed.
    fn reload<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let changed = quietly(py, || self.0.reload())?.map_err(failed)?;
        plain(py, &changed)
    }

    /// Keeps what detection knows, so that another process goes on with it at once.
    fn rest(&self, py: Python<'_>) -> PyResult<()> {
        quietly(py, || self.0.rest())?.map_err(failed)
    }

    fn explain<'py>(&self, py: Python<'py>, case: &str) -> PyResult<Bound<'py, PyAny>> {
        let case: Case = serde_json::from_str(case).map_err(wrong)?;
        let (decision, rules) = quietly(py, || self.0.explain(&case))?;
        plain(py, &serde_json::json!({ "verdict": decision.verdict, "rules": rules }))
    }

    fn explain_incident<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
        let (decision, rules) = quietly(py, || self.0.explain_incident(id))?.map_err(failed)?;
        plain(py, &serde_json::json!({ "verdict": decision.verdict, "rules": rules }))
    }

    fn observe<'py>(&self, py: Python<'py>, reading: &str) -> PyResult<Bound<'py, PyAny>> {
        let json: Json = serde_json::from_str(reading).map_err(wrong)?;
        let draft = Draft::from_json(&json).map_err(wrong)?;
        let seen = quietly(py, || self.0.observe(draft))?.map_err(failed)?;
        plain(py, &seen)
    }

    fn targets<'py>(&self, py: Python<'py>, ask: bool) -> PyResult<Bound<'py, PyAny>> {
        let all = quietly(py, || self.0.targets(ask))?.map_err(failed)?;
        plain(py, &all)
    }

    fn model_history<'py>(&self, py: Python<'py>, application: &str) -> PyResult<Bound<'py, PyAny>> {
        let application = Application::parse(application).map_err(wrong)?;
        self.0.setup().has(&application).map_err(failed)?;
        let spans = quietly(py, || self.0.model_history(&application))?;
        plain(py, &spans)
    }

    fn registry_history<'py>(&self, py: Python<'py>, application: &str) -> PyResult<Bound<'py, PyAny>> {
        let application = Application::parse(application).map_err(wrong)?;
        self.0.setup().has(&application).map_err(failed)?;
        let told = quietly(py, || self.0.registry_history(&application))?.map_err(failed)?;
        plain(py, &told)
    }

    /// `since` in seconds since 1970.
    #[pyo3(signature = (application=None, since=None))]
    fn report<'py>(
        &self,
        py: Python<'py>,
        application: Option<&str>,
        since: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let application = application.map(Application::parse).transpose().map_err(wrong)?;
        if let Some(application) = &application {
            self.0.setup().has(application).map_err(failed)?;
        }
        let since = since.map(Duration::try_from_secs_f64).transpose().map_err(wrong)?;
        let since = since.map(|since| Moment::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX)));
        let figures = quietly(py, || self.0.report(application.as_ref(), since))?.map_err(failed)?;
        plain(py, &figures)
    }

    /// Times in seconds since 1970.
    #[pyo3(signature = (application=None, since=None, until=None, kinds=Vec::new()))]
    fn export(
        &self,
        py: Python<'_>,
        application: Option<String>,
        since: Option<f64>,
        until: Option<f64>,
        kinds: Vec<String>,
    ) -> PyResult<NativeExport> {
        let time = |at: Option<f64>| at.map(|at| micros(at).map(|at| at / 1_000)).transpose();
        let wanted = Wanted { since: time(since)?, until: time(until)?, application };
        let sort = |word: &String| Sort::ALL.into_iter().find(|sort| sort.word() == word).ok_or_else(|| word.clone());
        let sorts = kinds.iter().map(sort).collect::<Result<Vec<_>, _>>();
        let sorts = sorts.map_err(|word| wrong(format!("nothing is kept as `{word}`")))?;
        quietly(py, || self.0.export(wanted, &sorts))?.map(NativeExport::of).map_err(failed)
    }

    fn obstacles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = quietly(py, || self.0.obstacles())?;
        plain(py, &all)
    }

    fn mark_good(&self, py: Python<'_>, application: &str, version: &str, reason: &str) -> PyResult<()> {
        let application = Application::parse(application).map_err(wrong)?;
        let version = Version::parse(version).map_err(wrong)?;
        self.0.setup().has(&application).map_err(failed)?;
        quietly(py, || self.0.mark_good(&application, &version, reason))?.map_err(failed)
    }

    /// Learns the reference of a signal's profiles, and writes its file.
    #[pyo3(signature = (application, signal, features, predictions, model_version=None))]
    fn learn<'py>(
        &self,
        py: Python<'py>,
        application: &str,
        signal: &str,
        features: &Bound<'_, PyDict>,
        predictions: &Bound<'_, PyDict>,
        model_version: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let application = Application::parse(application).map_err(wrong)?;
        let signal = Signal::parse(signal).map_err(wrong)?;
        let version = model_version.map(Version::parse).transpose().map_err(wrong)?;
        let columns = rows::columns(features, predictions)?;
        let setup = self.0.setup();
        let learned = quietly(py, || setup.learn(&application, &signal, version, &columns))?.map_err(failed)?;
        plain(py, &learned)
    }

    /// The number of records; an error says where the chain breaks.
    fn verify_ledger(&self, py: Python<'_>) -> PyResult<u64> {
        let chain = quietly(py, || self.0.verify_ledger())?.map_err(failed)?;
        chain.map_err(|broken| failed(format!("the chain breaks at record {}: {}", broken.seq, broken.what)))
    }
}

/// The closed lists with their words.
#[pyfunction]
pub fn words() -> Vec<(&'static str, Vec<String>)> {
    sanare::core::service::lists::all()
}

/// A client.
#[pyclass(frozen, name = "NativeService", module = "sanare._sanare")]
pub struct NativeService(Service);

#[pymethods]
impl NativeService {
    /// Takes a reading. `None`: it is queued; a text: why the value cannot be used. An illegal name is an error.
    #[pyo3(signature = (signal, value, kind="metric", unit=None, at=None, labels=None, id=None))]
    fn observe(
        &self,
        signal: &str,
        value: &Bound<'_, PyAny>,
        kind: &str,
        unit: Option<String>,
        at: Option<f64>,
        labels: Option<&Bound<'_, PyDict>>,
        id: Option<String>,
    ) -> PyResult<Option<String>> {
        let signal = Signal::parse(signal).map_err(wrong)?;
        if kind == "metric" && unit.is_none() && at.is_none() && labels.is_none() && id.is_none() {
            return Ok(match number(value) {
                Some(number) => {
                    self.0.observe(&signal, number);
                    None
                }
                None => Some(self.refused("is no number")),
            });
        }
        let kind = ObservationKind::parse(kind).map_err(wrong)?;
        let labels = match labels {
            None => Labels::default(),
            Some(labels) => {
                let read: Result<BTreeMap<String, String>, PyErr> = labels.extract();
                let read = read.map_err(|_| "`labels` are texts".to_owned());
                match read.and_then(|labels| Labels::new(labels).map_err(|invalid| invalid.to_string())) {
                    Ok(labels) => labels,
                    Err(why) => return Ok(Some(self.refused(&why))),
                }
            }
        };
        let at = match at.map(Duration::try_from_secs_f64) {
            None => None,
            Some(Ok(since)) => Some(Moment::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))),
            Some(Err(_)) => return Ok(Some(self.refused("a time lies before 1970"))),
        };
        let more = More { unit, at, labels, id };
        if kind == ObservationKind::Metric {
            let Some(number) = number(value) else { return Ok(Some(self.refused("is no number"))) };
            self.0.report(&signal, ObservedValue::metric(number), more);
            return Ok(None);
        }
        let Some(json) = json(value, 0) else { return Ok(Some(self.refused("is no plain data"))) };
        Ok(self.0.report_json(&signal, kind, &json, more).err().map(|invalid| invalid.to_string()))
    }

    fn served(&self, path: &str, seconds: f64, failed: bool) {
        self.0.served(path, Duration::try_from_secs_f64(seconds).unwrap_or_default(), failed);
    }

    /// Takes a line of a log. `None`: it is counted; a text: why not.
    fn log(&self, line: &Bound<'_, PyAny>) -> Option<String> {
        let Ok(text) = line.cast::<PyString>() else { return Some(self.refused("is no text")) };
        self.0.log(&text.to_string_lossy()).err().map(|invalid| invalid.to_string())
    }

    /// Takes rows, column by column. `None`: they are taken; a text: why not. An illegal name is an error.
    fn rows(
        &self,
        signal: &str,
        features: &Bound<'_, PyDict>,
        predictions: &Bound<'_, PyDict>,
    ) -> PyResult<Option<String>> {
        let signal = Signal::parse(signal).map_err(wrong)?;
        match rows::columns(features, predictions) {
            Err(error) => Ok(Some(self.refused(&error.value(features.py()).to_string()))),
            Ok(columns) => Ok(self.0.rows(&signal, columns).err().map(|invalid| invalid.to_string())),
        }
    }

    #[pyo3(signature = (action, function, declared, probe=None))]
    fn capability(
        &self,
        py: Python<'_>,
        action: &str,
        function: Py<PyAny>,
        declared: &Bound<'_, PyDict>,
        probe: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let action = Action::parse(action).map_err(wrong)?;
        let flag = |name: &str| declared.get_item(name).ok().flatten().and_then(|found| found.extract::<bool>().ok());
        let millis = declared.get_item("timeout_ms")?.and_then(|found| found.extract::<i64>().ok());
        let fence: Vec<String> = match declared.get_item("fence")? {
            Some(marks) => marks.extract()?,
            None => Vec::new(),
        };
        let fence: Vec<Mark> = fence.iter().map(|mark| Mark::parse(mark)).collect::<Result<_, _>>().map_err(wrong)?;
        let reversible = flag("reversible");
        let written = Written {
            idempotent: flag("idempotent"),
            reversible,
            undo: (reversible == Some(true)).then_some(match action {
                Action::RollbackModel => Undo::MoveBack,
                Action::RequestRetraining => Undo::CancelJob,
                _ => Undo::PreviousRevision,
            }),
            timeout_ms: millis,
            fence: (!fence.is_empty()).then_some(fence),
            ..Written::default()
        };
        let probe = probe.map(|ask| -> Arc<dyn Probe> { Arc::new(Asking::new(move || asked(&ask))) });
        let call = move |intent: &Intent| called(&function, intent);
        let capability = Capability { declared: written, probe };
        quietly(py, || self.0.capability(action, Arc::new(call), capability))?.map_err(wrong)
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        plain(py, &self.0.stats())
    }

    fn flush(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let timeout = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        quietly(py, || self.0.close(timeout))
    }
}

impl NativeService {
    fn refused(&self, why: &str) -> String {
        self.0.refuse();
        why.to_owned()
    }
}

fn matcher((name, how, texts): (String, String, Vec<String>)) -> Result<Matcher, Invalid> {
    let mut texts: std::collections::BTreeSet<String> = texts.into_iter().collect();
    let test = match (how.as_str(), texts.len()) {
        ("~", 1) => Test::Matches(texts.pop_first().unwrap_or_default()),
        (_, 1) => Test::Equals(texts.pop_first().unwrap_or_default()),
        _ => Test::OneOf(texts),
    };
    Matcher::new(&name, test)
}

fn micros(seconds: f64) -> PyResult<u64> {
    let length = Duration::try_from_secs_f64(seconds).map_err(wrong)?;
    u64::try_from(length.as_micros()).map_err(wrong)
}

/// A number, whatever can be one; truth values and texts are none.
fn number(value: &Bound<'_, PyAny>) -> Option<f64> {
    if value.is_instance_of::<PyFloat>() || !value.is_instance_of::<PyBool>() && !value.is_instance_of::<PyString>() {
        value.extract::<f64>().ok()
    } else {
        None
    }
}

/// Plain data of exact types, at most a few levels deep.
fn json(value: &Bound<'_, PyAny>, depth: usize) -> Option<Json> {
    if depth > 8 {
        return None;
    }
    if value.is_none() {
        return Some(Json::Null);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Some(flag.is_true().into());
    }
    if value.is_instance_of::<PyInt>() {
        return value.extract::<i64>().ok().map(Json::from);
    }
    if value.is_instance_of::<PyFloat>() {
        return value.extract::<f64>().ok().map(Json::from);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return text.to_str().ok().filter(|text| text.len() <= 300_000).map(Json::from);
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let entries = dict.iter().map(|(key, value)| {
            Some((key.cast::<PyString>().ok()?.to_str().ok()?.to_owned(), json(&value, depth + 1)?))
        });
        return entries.collect::<Option<serde_json::Map<_, _>>>().map(Json::Object);
    }
    if let Ok(list) = value.cast::<pyo3::types::PyList>() {
        return list.iter().map(|item| json(&item, depth + 1)).collect::<Option<Vec<_>>>().map(Json::Array);
    }
    None
}

/// Calls the owner's function: what it raises is nobody's knowledge, unless it says that nothing was begun.
fn called(function: &Py<PyAny>, intent: &Intent) -> End {
    let Ok(json) = serde_json::to_value(intent) else { return End::NotStarted };
    Python::attach(|py| {
        let Ok(plain) = back::json_to_python(py, &json) else { return End::NotStarted };
        // The Python half answers with a word: `done`, `not_started`, or the type of what was raised.
        match function.call1(py, (plain,)).and_then(|answer| answer.extract::<String>(py)) {
            Ok(word) if word == "done" => End::Done,
            Ok(word) if word == "not_started" => End::NotStarted,
            Ok(name) => End::Failed(name),
            Err(_) => End::Failed("Exception".to_owned()),
        }
    })
}

/// Asks the owner's program who answers now.
fn asked(ask: &Py<PyAny>) -> Option<Identity> {
    Python::attach(|py| {
        let told = ask.call0(py).ok()?;
        let dict = told.bind(py).cast::<PyDict>().ok()?.clone();
        let mut identity = Identity::default();
        for (key, value) in dict.iter() {
            let mark = Mark::parse(key.cast::<PyString>().ok()?.to_str().ok()?).ok()?;
            identity = identity.with(mark, value.str().ok()?.to_str().ok()?);
        }
        Some(identity)
    })
}
