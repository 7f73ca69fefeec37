//! `[service.NAME.target.COMPONENT]`: for each action the one thing that it touches, and by which adapter (S78 to S82, S86).

use std::collections::BTreeMap;

use serde::Serialize;

use super::job::{self, JobSettings, WorkflowSettings};
use super::probe::{Method, pointer};
use super::reader::{Address, HeaderValue, Table};
use crate::service::action::Action;
use crate::service::declaration::{Blast, Undo, Written};
use crate::service::invalid::Invalid;
use crate::service::moment::{DAY, SECOND};
use crate::service::name::{Application, Component, Signal};
use crate::service::target::{Mark, TargetKey};

/// A target with the one action that it is for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetSettings {
    /// What is done.
    pub action: Action,
    /// The component that it is configured for.
    pub component: Component,
    /// What it physically is.
    pub key: TargetKey,
    /// How.
    pub adapter: AdapterSettings,
    /// What its owner declares of it.
    pub declared: Written,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

/// The adapters of this version.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "adapter", rename_all = "snake_case")]
pub enum AdapterSettings {
    /// A program.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
        /// The same for taking it back.
        undo_argv: Option<Vec<String>>,
        /// Variables that it may see.
        env: Vec<String>,
        /// Whether a failure of it surely changed nothing.
        clean_failures: bool,
        /// How the job is followed that it begins.
        job: Option<JobSettings>,
    },
    /// A request.
    Http(Box<HttpSettings>),
    /// A workflow that is dispatched.
    Workflow(Box<WorkflowSettings>),
    /// A function of the program that is watched.
    Callback,
    /// An alias of an MLflow registry.
    Mlflow {
        /// The registry's name.
        registry: String,
        /// The model.
        model: String,
        /// The alias.
        alias: String,
        /// The action that makes the service load it; nothing where it looks by itself.
        then: Option<Action>,
        /// The probe that says which version is served.
        served: Option<String>,
    },
}

impl AdapterSettings {
    /// The adapter's word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Command { .. } => "command",
            Self::Http(_) => "http",
            Self::Workflow(_) => "workflow",
            Self::Callback => "callback",
            Self::Mlflow { .. } => "mlflow",
        }
    }
}

/// A request that does something.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HttpSettings {
    /// Where.
    pub address: Address,
    /// How.
    pub method: Method,
    /// Headers.
    pub headers: BTreeMap<String, HeaderValue>,
    /// The body, with placeholders.
    pub body: Option<String>,
    /// Statuses that say that it was done.
    pub success: Vec<u16>,
    /// Where a 202 is followed to its end.
    pub poll: Option<PollSettings>,
    /// How the job is followed that it begins.
    pub job: Option<JobSettings>,
    /// The mark that goes into `If-Match`.
    pub if_match: Option<Mark>,
    /// Whether an answer of 5xx surely changed nothing.
    pub clean_failures: bool,
    /// The same for taking it back.
    pub undo_request: Option<Box<HttpSettings>>,
}

/// How a job is followed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PollSettings {
    /// Where.
    pub address: Address,
    /// JSON pointer to its state.
    pub pointer: String,
    /// What it says when it is done.
    pub done: Vec<String>,
    /// What it says when it has failed.
    pub failed: Vec<String>,
}

/// Adapters that are planned, so that naming one says more than "unknown".
const PLANNED: [&str; 3] = ["systemd", "docker", "kubernetes"];
const BUILT: [&str; 5] = ["command", "http", "workflow", "callback", "mlflow"];
/// What an argument or body may stand for.
const PLACEHOLDERS: [&str; 4] = ["{application}", "{component}", "{version}", "{receipt}"];

/// The targets of one component.
pub(super) fn component(
    application: &Application,
    component: &Component,
    mut table: Table<'_>,
    instances: u32,
    registries: &BTreeMap<String, super::Server>,
) -> Vec<TargetSettings> {
    let mut targets = Vec::new();
    for action in Action::ALL.iter().filter(|action| !action.is_framework()) {
        let Some(one) = table.table(action.word()) else { continue };
        targets.extend(target(application, component, *action, one, instances, registries));
    }
    for framework in ["run_diagnostic", "escalate", "no_action"] {
        if table.has(framework) {
            table.trouble(framework, "needs no target", "diagnostics stand in [[service.NAME.diagnostic]]");
            let _ = table.table(framework);
        }
    }
    table.finish();
    targets
}

fn target(
    application: &Application,
    component: &Component,
    action: Action,
    mut table: Table<'_>,
    instances: u32,
    registries: &BTreeMap<String, super::Server>,
) -> Option<TargetSettings> {
    let line = table.line();
    let word = table.text("adapter", 63);
    let word = table.needed("adapter", word)?;
    if PLANNED.contains(&word.as_str()) {
        table.trouble("adapter", format!("`{word}` is not built yet"), format!("one of {}", BUILT.join(", ")));
        return None;
    }
    let mut declared = declared(&mut table, instances);
    let physical = table.name::<TargetKey>("physical");
    let adapter = match word.as_str() {
        "command" => command(&mut table, action),
        "workflow" => job::workflow(&mut table, action).map(|one| AdapterSettings::Workflow(Box::new(one))),
        "http" => http(&mut table).map(|request| {
            let job = job::job(&mut table, action, false);
            if job.is_some() && request.poll.is_some() {
                table.trouble("poll", "stands beside `job`", "a job is followed one way");
            }
            let undo_request = table.table("undo_request").and_then(|mut undo| {
                let request = http(&mut undo);
                undo.finish();
                request.map(Box::new)
            });
            AdapterSettings::Http(Box::new(HttpSettings { undo_request, job, ..request }))
        }),
        "callback" => Some(AdapterSettings::Callback),
        "mlflow" => mlflow(&mut table, action, registries),
        _ => {
            table.trouble("adapter", format!("`{word}` is no adapter"), format!("one of {}", BUILT.join(", ")));
            return None;
        }
    };
    let cancels = adapter.as_ref().is_some_and(AdapterSettings::cancels);
    if cancels {
        // Whoever says how a job is cancelled has said that it can be.
        declared.reversible = declared.reversible.or(Some(true));
        declared.undo = declared.undo.or(Some(Undo::CancelJob));
    }
    if cancels != (declared.undo == Some(Undo::CancelJob)) {
        table.trouble(
            "undo",
            "`cancel_job` stands with what says how a job is cancelled",
            "`job.cancel`, or `cancel = true` of a workflow",
        );
    }
    let key = match (&adapter, physical) {
        (_, Some(key)) => Some(key),
        (Some(adapter), None) => key_of(application, component, adapter, registries)
            .map_err(|invalid| {
                table.trouble("adapter", invalid.reason, "name the thing with `physical = \"kind:name\"`")
            })
            .ok(),
        (None, None) => None,
    };
    table.finish();
    Some(TargetSettings { action, component: component.clone(), key: key?, adapter: adapter?, declared, line })
}

impl AdapterSettings {
    /// Whether it says how its job is cancelled.
    pub(super) fn cancels(&self) -> bool {
        match self {
            Self::Command { job, .. } => job.as_ref().is_some_and(|job| job.cancel.is_some()),
            Self::Http(request) => request.job.as_ref().is_some_and(|job| job.cancel.is_some()),
            Self::Workflow(one) => one.cancel,
            Self::Callback | Self::Mlflow { .. } => false,
        }
    }
}

/// What a target physically is, where its owner does not say so: an alias of a registry, else the running component.
fn key_of(
    application: &Application,
    component: &Component,
    adapter: &AdapterSettings,
    registries: &BTreeMap<String, super::Server>,
) -> Result<TargetKey, Invalid> {
    match adapter {
        AdapterSettings::Mlflow { registry, model, alias, .. } => {
            let server = registries.get(registry).map(|server| server.address.base.authority()).unwrap_or_default();
            TargetKey::parse(format!("mlflow:{server}/{model}/{alias}"))
        }
        AdapterSettings::Workflow(one) => {
            let server = one.address.base.authority();
            TargetKey::parse(format!("workflow:{server}/{}/{}", one.repository, one.workflow))
        }
        _ => TargetKey::parse(format!("service:{application}/{component}")),
    }
}

fn declared(table: &mut Table<'_>, instances: u32) -> Written {
    let touches = table.integer("touches", 1, u64::from(instances)).and_then(|number| u32::try_from(number).ok());
    let [expected, timeout] = ["expected", "timeout"].map(|key| {
        let micros = table.duration(key, 1_000, DAY);
        micros.and_then(|micros| i64::try_from(micros / 1_000).ok())
    });
    Written {
        idempotent: table.flag("idempotent"),
        reversible: table.flag("reversible"),
        dry_run: None,
        fence: table.reads("fence", Mark::parse),
        blast: touches.map(|touched| Blast { touched, of: instances }),
        expected_ms: expected,
        timeout_ms: timeout,
        preconditions: None,
        identity_probe: table.text("identity", 63),
        verification: table.names::<Signal>("verify"),
        undo: table.read("undo", Undo::parse),
        source_of_truth: table.text("source_of_truth", 300),
    }
}

/// Program and arguments: an absolute path, placeholders as whole arguments only.
pub(super) fn argv(table: &mut Table<'_>, key: &'static str) -> Option<Vec<String>> {
    argv_with(table, key, &PLACEHOLDERS)
}

/// The same with placeholders of its own.
pub(super) fn argv_with(table: &mut Table<'_>, key: &'static str, placeholders: &[&str]) -> Option<Vec<String>> {
    let argv = table.texts(key, 50)?;
    let Some(program) = argv.first() else {
        table.trouble(key, "is empty", "[\"/usr/bin/program\", \"argument\"]");
        return None;
    };
    if !program.starts_with('/') {
        table.trouble(key, format!("the program `{program}` is no absolute path"), "write it in full");
        return None;
    }
    let braces = |text: &String| text.contains(['{', '}']) && !placeholders.contains(&text.as_str());
    if let Some(wrong) = argv.iter().find(|text| braces(text)) {
        table.trouble(
            key,
            format!("`{}` is no placeholder", crate::service::invalid::quoted(wrong)),
            format!("a whole argument may be one of {}", placeholders.join(", ")),
        );
        return None;
    }
    Some(argv)
}

fn command(table: &mut Table<'_>, action: Action) -> Option<AdapterSettings> {
    let job = job::job(table, action, true);
    let argv = argv(table, "argv");
    let undo_argv = self::argv(table, "undo_argv");
    let env = table.texts("env", 50).unwrap_or_default();
    let clean_failures = table.flag("clean_failures").unwrap_or(false);
    let argv = table.needed("argv", argv)?;
    Some(AdapterSettings::Command { argv, undo_argv, env, clean_failures, job })
}

fn http(table: &mut Table<'_>) -> Option<HttpSettings> {
    let address = table.address("url");
    let method = table.read("method", Method::parse).unwrap_or(Method::Post);
    let headers = table.headers("headers");
    let body = table.text("body", 16_384);
    let success = successes(table).unwrap_or_else(|| vec![200, 201, 204]);
    let poll = table.table("poll").and_then(poll);
    let if_match = table.read("if_match", Mark::parse);
    let clean_failures = table.flag("clean_failures").unwrap_or(false);
    if method == Method::Get {
        table.trouble("method", "a GET changes nothing", "POST, PUT, PATCH or DELETE");
    }
    let address = table.needed("url", address)?;
    Some(HttpSettings {
        address,
        method,
        headers,
        body,
        success,
        poll,
        job: None,
        if_match,
        clean_failures,
        undo_request: None,
    })
}

fn poll(mut table: Table<'_>) -> Option<PollSettings> {
    let address = table.address("url");
    let pointer = pointer(&mut table, "pointer");
    let [done, failed] = ["done", "failed"].map(|key| table.texts(key, 20));
    let (address, pointer) = (table.needed("url", address), table.needed("pointer", pointer));
    let done = table.needed("done", done);
    table.finish();
    Some(PollSettings { address: address?, pointer: pointer?, done: done?, failed: failed.unwrap_or_default() })
}

fn successes(table: &mut Table<'_>) -> Option<Vec<u16>> {
    let json = table.json("success")?;
    let one = |status: &serde_json::Value| status.as_u64().and_then(|status| u16::try_from(status).ok());
    let all: Option<Vec<u16>> = json
        .as_array()
        .filter(|all| !all.is_empty() && all.len() <= 50)
        .and_then(|all| all.iter().map(|status| one(status).filter(|code| (200..300).contains(code))).collect());
    if all.is_none() {
        table.trouble("success", "this value is not allowed here", "a list of codes from 200 to 299");
    }
    all
}

fn mlflow(
    table: &mut Table<'_>,
    action: Action,
    registries: &BTreeMap<String, super::Server>,
) -> Option<AdapterSettings> {
    let registry = table.text("registry", 63);
    let model = table.text("model", 200);
    let alias = table.read("alias", alias);
    let then = table.read("then", Action::parse);
    let served = table.text("served", 63);
    if action != Action::RollbackModel {
        table.trouble("adapter", format!("mlflow moves an alias, which is no {action}"), "rollback_model alone");
    }
    if let Some(then) = then.filter(|then| !matches!(then, Action::ReloadModel | Action::RestartComponent)) {
        table.trouble("then", format!("{then} loads no model"), "reload_model or restart_component");
    }
    let [registry, model] = [("registry", registry), ("model", model)].map(|(key, value)| table.needed(key, value));
    let alias = table.needed("alias", alias);
    let registry = registry?;
    if !registries.contains_key(&registry) {
        table.trouble("registry", format!("there is no [registry.{registry}]"), "");
        return None;
    }
    Some(AdapterSettings::Mlflow { registry, model: model?, alias: alias?, then, served })
}

/// An alias that a registry does not read as something else (S86).
fn alias(text: &str) -> Result<String, Invalid> {
    let version = text.strip_prefix(['v', 'V']).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    if text.eq_ignore_ascii_case("latest") || version {
        return Err(Invalid::quoting("alias", text, "a name that is no version"));
    }
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if text.is_empty() || text.len() > 255 || !text.bytes().all(legal) {
        return Err(Invalid::quoting("alias", text, "letters, digits, `_`, `-`"));
    }
    Ok(text.to_owned())
}

/// How long an act of an adapter is waited for where nobody says so, in milliseconds (S81, S82).
pub fn default_timeout_ms(adapter: &AdapterSettings) -> i64 {
    let micros = match adapter {
        AdapterSettings::Command { .. } => 60 * SECOND,
        _ => 30 * SECOND,
    };
    i64::try_from(micros / 1_000).unwrap_or(30_000)
}
