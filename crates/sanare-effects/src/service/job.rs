//! Jobs that go on without us: how an answer names one, and how one is asked for (S88). Nothing here changes anything.

use std::time::Duration;

use sanare_core::service::job::{Following, JobState};
use sanare_core::service::port::Acted;
use sanare_core::service::receipt::Receipt;
use sanare_core::service::word::Effect;
use sanare_core::service::{Text, Version};
use serde_json::Value as Json;

use super::adapter::told;
use super::begin::begin;
use super::client::{Answer, Call, Reply};
use super::endpoint::{Endpoint, percent};
use super::http::DECLINED;
use super::pointer::text_at;
use crate::task::{Task, TaskEnd, run};
use crate::trial::PrivateFolder;

/// How long one question after a job may take, and how much of its answer is read.
const ASK: Duration = Duration::from_secs(10);
const ANSWER: usize = 4 * 1024 * 1024;
/// Bytes of what a program writes of a job.
const OUTPUT: usize = 16 * 1024;

/// What an owner wrote of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// How it is found and asked for.
    pub way: Way,
    /// How often, and for how long.
    pub following: Following,
    /// What it says when it has ended well.
    pub done: Vec<String>,
    /// What it says when it has ended otherwise.
    pub failed: Vec<String>,
    /// How it is cancelled, if it can be.
    pub cancel: Option<Cancel>,
}

/// How a job is cancelled.
#[derive(Clone, Debug, PartialEq)]
pub enum Cancel {
    /// By a request.
    Request {
        /// POST or DELETE.
        method: String,
        /// What the name is put behind.
        endpoint: Endpoint,
        /// What stands behind the name.
        after: String,
    },
    /// By a program and its arguments; `{job}` stands for the name.
    Program(Vec<String>),
}

/// How a job is found and asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// The answer to the request names it, and an address tells of it.
    Asked {
        /// Where the answer names it: a JSON pointer; else the last part of its `location`.
        reference: Option<String>,
        /// What the name is put behind.
        endpoint: Endpoint,
        /// What stands behind the name.
        after: String,
        /// JSON pointer to its state.
        pointer: String,
        /// JSON pointer to the version that it made.
        candidate: Option<String>,
    },
    /// The first line of the command's output names it, and a program tells of it.
    Told(Vec<String>),
    /// It is found among the runs of a workflow by the receipt that its name shows (GitHub's form).
    Listed(Endpoint),
}

/// The name of a job, if it has the form of one: it stands in addresses and arguments.
fn name(text: &str) -> Option<String> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    let fits = !text.is_empty() && text.len() <= 200 && text.bytes().all(legal) && !text.starts_with(['-', '.']);
    fits.then(|| text.to_owned())
}

impl Job {
    /// The name that an answer to the request gives; an error where it gives none that can be used.
    pub(super) fn named(&self, answer: &Answer) -> Result<Option<String>, &'static str> {
        let found = match &self.way {
            Way::Listed(_) => return Ok(None),
            Way::Asked { reference: Some(pointer), .. } => {
                serde_json::from_slice::<Json>(&answer.body).ok().and_then(|json| text_at(&json, pointer))
            }
            Way::Asked { reference: None, .. } => {
                let path = answer.location.as_deref().map(|location| location.split(['?', '#']).next().unwrap_or(""));
                path.and_then(|path| path.trim_end_matches('/').rsplit('/').next()).map(str::to_owned)
            }
            Way::Told(_) => None,
        };
        found.as_deref().and_then(name).map(Some).ok_or("it was accepted, and the answer does not name the job")
    }

    /// The name that a command's output gives.
    pub(super) fn written(output: &[u8]) -> Option<String> {
        name(String::from_utf8_lossy(output).lines().next().unwrap_or_default().trim())
    }

    /// How a job stands.
    pub(super) fn state(&self, receipt: &Receipt, job: Option<&str>) -> JobState {
        let cannot = |why: &str| JobState::CannotTell(Text::of(why));
        match (&self.way, job.and_then(name)) {
            (Way::Listed(endpoint), _) => self.listed(endpoint, receipt),
            (_, None) => cannot("its name is not known"),
            (Way::Asked { endpoint, after, pointer, candidate, .. }, Some(job)) => {
                let path = format!("{}{}{after}", endpoint.path, percent(&job));
                match json(&Endpoint { path, ..endpoint.clone() }) {
                    Ok(Some(json)) => {
                        let word = text_at(&json, pointer).unwrap_or_default();
                        self.judged(&word, candidate.as_ref().and_then(|pointer| text_at(&json, pointer)))
                    }
                    Ok(None) => JobState::Missing,
                    Err(why) => cannot(&why),
                }
            }
            (Way::Told(argv), Some(job)) => match ran(argv, &job) {
                Ok(said) => {
                    let mut lines = said.lines().map(str::trim);
                    self.judged(lines.next().unwrap_or_default(), lines.next().map(str::to_owned))
                }
                Err(why) => cannot(&why),
            },
        }
    }

    /// Asks for its end, by its name or, where runs are listed, by the receipt that they show. That it has ended is told by
    /// [`Job::state`] alone.
    pub(super) fn cancel(&self, named: Option<&str>) -> Acted {
        let Some(job) = named.and_then(name) else { return told(Effect::NotStarted, "its name is not known") };
        let job = match &self.way {
            Way::Listed(endpoint) => match run_of(endpoint, &job) {
                Ok(run) => run,
                Err(why) => return told(Effect::NotStarted, &why),
            },
            _ => job,
        };
        if begin(|| ()).is_none() {
            return told(Effect::NotStarted, "the stop switch is set, or cannot be read");
        }
        match &self.cancel {
            None => told(Effect::NotStarted, "nothing says how it is cancelled"),
            Some(Cancel::Program(argv)) => match ran(argv, &job) {
                Ok(said) => told(Effect::Done, &said),
                Err(why) => told(Effect::Unknown, &why),
            },
            Some(Cancel::Request { method, endpoint, after }) => {
                let path = format!("{}{}{after}", endpoint.path, percent(&job));
                let endpoint = Endpoint { path, ..endpoint.clone() };
                let call =
                    Call { method, endpoint: &endpoint, headers: &[], body: Some(&[]), timeout: ASK, most: OUTPUT };
                match call.send() {
                    Reply::NotSent(fault) => told(Effect::NotStarted, &fault.to_string()),
                    Reply::Lost(fault) => told(Effect::Unknown, &fault.to_string()),
                    Reply::Answer(answer) => {
                        let effect = match answer.status {
                            200..=299 => Effect::Done,
                            code if DECLINED.contains(&code) => Effect::Refused,
                            _ => Effect::Unknown,
                        };
                        told(effect, &String::from_utf8_lossy(&answer.body))
                    }
                }
            }
        }
    }

    fn judged(&self, word: &str, candidate: Option<String>) -> JobState {
        if self.done.iter().any(|one| one == word) {
            return JobState::Done { candidate: candidate.and_then(|version| Version::parse(version).ok()) };
        }
        if self.failed.iter().any(|one| one == word) { JobState::Failed(Text::of(word)) } else { JobState::Running }
    }

    fn listed(&self, endpoint: &Endpoint, receipt: &Receipt) -> JobState {
        let cannot = |why: &str| JobState::CannotTell(Text::of(why));
        let list = match json(endpoint) {
            Ok(Some(list)) => list,
            Ok(None) => return cannot("there is no such workflow"),
            Err(why) => return cannot(&why),
        };
        let Some(runs) = list["workflow_runs"].as_array() else { return cannot("the answer lists no runs") };
        let own: Vec<&Json> = runs.iter().filter(|run| shows(run, receipt.id.as_str())).collect();
        match own.as_slice() {
            [] => JobState::Missing,
            [run] if run["status"] == "completed" => match run["conclusion"].as_str().unwrap_or("unknown") {
                "success" => JobState::Done { candidate: None },
                other => JobState::Failed(Text::of(other)),
            },
            [_] => JobState::Running,
            more => JobState::Many(u32::try_from(more.len()).unwrap_or(u32::MAX)),
        }
    }
}

/// The number of the one run that shows a receipt.
fn run_of(endpoint: &Endpoint, receipt: &str) -> Result<String, String> {
    let list = json(endpoint)?.ok_or("there is no such workflow")?;
    let runs = list["workflow_runs"].as_array().ok_or("the answer lists no runs")?;
    let own: Vec<&Json> = runs.iter().filter(|run| shows(run, receipt)).collect();
    match own.as_slice() {
        [run] => run["id"].as_u64().map(|id| id.to_string()).ok_or_else(|| "the run has no number".to_owned()),
        _ => Err("there is no one run of this request".to_owned()),
    }
}

/// Whether a run shows a receipt in its name.
fn shows(run: &Json, receipt: &str) -> bool {
    ["name", "display_title"].iter().any(|key| run[*key].as_str().is_some_and(|text| text.contains(receipt)))
}

/// What an address says; nothing where there is nothing.
fn json(endpoint: &Endpoint) -> Result<Option<Json>, String> {
    let call = Call { method: "GET", endpoint, headers: &[], body: None, timeout: ASK, most: ANSWER };
    match call.send() {
        Reply::NotSent(fault) | Reply::Lost(fault) => Err(fault.to_string()),
        Reply::Answer(answer) => match answer.status {
            200 => serde_json::from_slice(&answer.body).map(Some).map_err(|_| "the answer is no JSON".to_owned()),
            404 => Ok(None),
            status => Err(format!("status {status}")),
        },
    }
}

fn ran(argv: &[String], job: &str) -> Result<String, String> {
    let folder = PrivateFolder::create().map_err(|_| "there is no folder to run it in".to_owned())?;
    let mut argv = argv.iter().map(|argument| if argument == "{job}" { job } else { argument.as_str() }.into());
    let task = Task {
        program: argv.next().unwrap_or_default(),
        arguments: argv.collect(),
        folder: folder.path().to_owned(),
        environment: Vec::new(),
        input: Vec::new(),
        deadline: ASK,
        output: OUTPUT,
    };
    let done = run(&task).map_err(|why| why.to_string())?;
    match done.end {
        TaskEnd::Exited(0) => Ok(String::from_utf8_lossy(&done.output).into_owned()),
        TaskEnd::Exited(code) => Err(format!("the program left with code {code}")),
        TaskEnd::Killed(_) | TaskEnd::TimedOut | TaskEnd::Unknown => Err("the program did not end".to_owned()),
    }
}

#[cfg(test)]
mod tests;
