//! `job` of a target: how what was asked for is followed to its end, and `adapter = "workflow"` (S88).

use std::collections::BTreeMap;

use serde::Serialize;

use super::probe::pointer;
use super::reader::{Address, HeaderValue, Table};
use crate::service::action::Action;
use crate::service::invalid::Invalid;
use crate::service::job::{EVERY, longest};
use crate::service::moment::{DAY, HOUR, MINUTE, SECOND};

/// How a job is followed; times in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobSettings {
    /// How it is asked for.
    pub way: JobWay,
    /// What it says when it has ended well.
    pub done: Vec<String>,
    /// What it says when it has ended otherwise.
    pub failed: Vec<String>,
    /// How often it is asked for.
    pub every: u64,
    /// When it is given up.
    pub within: u64,
    /// How it is cancelled, if it can be.
    pub cancel: Option<CancelWay>,
}

/// How a job is cancelled.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelWay {
    /// By a request.
    Http {
        /// What the job's name is put behind.
        address: Address,
        /// POST or DELETE.
        method: String,
        /// What stands behind the name.
        after: String,
    },
    /// By a program. `{job}` stands for its name.
    Command(Vec<String>),
}

/// How a job is asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobWay {
    /// By a GET.
    Http {
        /// What the job's name is put behind.
        address: Address,
        /// What stands behind the name.
        after: String,
        /// Where the answer to the request names the job: a JSON pointer; else its `location`.
        reference: Option<String>,
        /// JSON pointer to its state.
        pointer: String,
        /// JSON pointer to the version that it made.
        candidate: Option<String>,
    },
    /// By a program that writes its state, and on a second line the version that it made. `{job}` stands for its name.
    Command(Vec<String>),
}

/// A workflow of a CI system that is dispatched (GitHub's form).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkflowSettings {
    /// The server.
    pub address: Address,
    /// Headers.
    pub headers: BTreeMap<String, HeaderValue>,
    /// Owner and name.
    pub repository: String,
    /// The workflow's file or number.
    pub workflow: String,
    /// Branch or tag.
    pub reference: String,
    /// Its inputs.
    pub inputs: BTreeMap<String, String>,
    /// The input that carries the receipt, which the workflow's `run-name` has to show.
    pub key_input: String,
    /// How often its run is asked for, in microseconds.
    pub every: u64,
    /// When it is given up, in microseconds.
    pub within: u64,
    /// Whether its run is cancelled when it is taken back.
    pub cancel: bool,
}

/// Reads `job`; only what asks others for something has one.
pub(super) fn job(table: &mut Table<'_>, action: Action, by_command: bool) -> Option<JobSettings> {
    let mut job = table.table("job")?;
    if longest(action).is_none() {
        job.trouble(
            "",
            format!("{action} is over when it returns"),
            "request_retraining and request_redeployment alone",
        );
    }
    let way = if by_command { command(&mut job) } else { http(&mut job) };
    let [done, failed] = ["done", "failed"].map(|key| job.texts(key, 20));
    let done = job.needed("done", done).filter(|done| !done.is_empty());
    let failed = job.needed("failed", failed);
    let (every, within) = times(&mut job, action);
    let cancel = if by_command { cancel_by_command(&mut job) } else { cancel_by_http(&mut job) };
    if cancel.is_some() {
        cancelled(&job, "cancel", action);
    }
    job.finish();
    Some(JobSettings { way: way?, done: done?, failed: failed?, every, within, cancel })
}

/// Of a roll-out that is cut off nobody could say what runs.
fn cancelled(table: &Table<'_>, key: &str, action: Action) {
    if action != Action::RequestRetraining {
        table.trouble(key, format!("{action} is not cancelled half way"), "request_retraining alone");
    }
}

fn cancel_by_http(job: &mut Table<'_>) -> Option<CancelWay> {
    let mut cancel = job.table("cancel")?;
    let address = cancel.address("url");
    let after = behind(&mut cancel);
    let method = cancel.read("method", |text| match text {
        "POST" | "DELETE" => Ok(text.to_owned()),
        _ => Err(Invalid::quoting("method", text, "POST or DELETE")),
    });
    let address = cancel.needed("url", address);
    cancel.finish();
    Some(CancelWay::Http { address: address?, method: method.unwrap_or_else(|| "POST".to_owned()), after })
}

fn cancel_by_command(job: &mut Table<'_>) -> Option<CancelWay> {
    let argv = super::target::argv_with(job, "cancel_argv", &["{job}"])?;
    names_the_job(job, "cancel_argv", &argv);
    Some(CancelWay::Command(argv))
}

fn times(table: &mut Table<'_>, action: Action) -> (u64, u64) {
    let every = table.duration("every", 5 * SECOND, HOUR).unwrap_or(EVERY);
    let within = table.duration("within", MINUTE, 7 * DAY);
    (every, within.or(longest(action)).unwrap_or(HOUR))
}

fn http(job: &mut Table<'_>) -> Option<JobWay> {
    let address = job.address("url");
    let after = behind(job);
    let reference = pointer(job, "reference");
    let header = job.text("header", 40);
    let state = pointer(job, "pointer");
    let candidate = pointer(job, "candidate");
    let named = job.has("reference") != job.has("header");
    if !named {
        job.trouble("reference", "says where the answer names the job", "a JSON pointer, or header = \"location\"");
    }
    if header.as_ref().is_some_and(|name| !name.eq_ignore_ascii_case("location")) {
        job.trouble("header", "is not read", "location");
    }
    let (address, state) = (job.needed("url", address), job.needed("pointer", state));
    named.then_some(JobWay::Http { address: address?, after, reference, pointer: state?, candidate })
}

/// What stands in an address behind the name of a job.
fn behind(table: &mut Table<'_>) -> String {
    let after = table.text("after", 300).unwrap_or_default();
    if !after.bytes().all(|byte| byte.is_ascii_graphic() && !b"#{}".contains(&byte)) {
        table.trouble("after", "has a character that no address has", "such as \"/status\"");
    }
    after
}

fn command(job: &mut Table<'_>) -> Option<JobWay> {
    let argv = super::target::argv_with(job, "argv", &["{job}"]);
    let argv = job.needed("argv", argv)?;
    names_the_job(job, "argv", &argv);
    Some(JobWay::Command(argv))
}

fn names_the_job(job: &Table<'_>, key: &str, argv: &[String]) {
    if !argv.iter().any(|argument| argument == "{job}") {
        job.trouble(key, "does not say which job", "one argument is \"{job}\"");
    }
}

/// Reads a target by `workflow`.
pub(super) fn workflow(table: &mut Table<'_>, action: Action) -> Option<WorkflowSettings> {
    if longest(action).is_none() {
        table.trouble("adapter", format!("a workflow is no {action}"), "request_retraining or request_redeployment");
    }
    let address = table.address("url");
    let headers = table.headers("headers");
    let repository = table.read("repository", repository);
    let workflow = table.read("workflow", |text| plain("workflow", text, b"._-"));
    let reference = table.read("ref", |text| plain("ref", text, b"._/-"));
    let inputs = table.pairs("inputs");
    let key_input = table.read("key_input", |text| plain("key_input", text, b"_-"));
    let key_input = key_input.unwrap_or_else(|| "sanare".to_owned());
    if inputs.contains_key(&key_input) {
        table.trouble("inputs", format!("`{key_input}` carries the receipt"), "name another input with `key_input`");
    }
    let (every, within) = times(table, action);
    let cancel = table.flag("cancel").unwrap_or(false);
    if cancel {
        cancelled(table, "cancel", action);
    }
    let address = table.needed("url", address);
    let (repository, workflow) = (table.needed("repository", repository), table.needed("workflow", workflow));
    let reference = table.needed("ref", reference);
    Some(WorkflowSettings {
        address: address?,
        headers,
        repository: repository?,
        workflow: workflow?,
        reference: reference?,
        inputs,
        key_input,
        every,
        within,
        cancel,
    })
}

fn repository(text: &str) -> Result<String, Invalid> {
    match text.split_once('/') {
        Some((owner, name)) => {
            let owner = plain("repository", owner, b"._-")?;
            Ok(format!("{owner}/{}", plain("repository", name, b"._-")?))
        }
        None => Err(Invalid::quoting("repository", text, "`owner/name`")),
    }
}

fn plain(field: &str, text: &str, more: &[u8]) -> Result<String, Invalid> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || more.contains(&byte);
    let part = |part: &str| !part.is_empty() && part != "." && part != "..";
    if text.len() <= 200 && text.bytes().all(legal) && text.split('/').all(part) {
        Ok(text.to_owned())
    } else {
        Err(Invalid::quoting(field, text, "letters, digits and `.`, `_`, `-`"))
    }
}
