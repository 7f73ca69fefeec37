//! The HTTP adapter: one fixed request, and what an answer to it is worth (S82).

use std::sync::Arc;
use std::time::{Duration, Instant};

use sanare_core::service::declaration::Declaration;
use sanare_core::service::gates::GateCheck;
use sanare_core::service::job::{Following, JobState};
use sanare_core::service::port::{Acted, Adapter, Availability, Intent, Probe};
use sanare_core::service::receipt::{Purpose, Receipt, WorldState};
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::text::Output;
use sanare_core::service::word::Effect;
use sanare_core::service::{Invalid, Text};

use super::adapter::{availability, can_undo, cancels, fenced, identity_of, told, without_dry_run};
use super::begin::begin;
use super::client::{Answer, Call, Reply, reachable};
use super::endpoint::Endpoint;
use super::job::{Job, Way};
use super::pointer::{is_pointer, text_at};
use super::{fill, world};

/// Bytes of an answer that are looked at.
const ANSWER: usize = 64 * 1024;
/// How often a job is asked for.
const POLL: Duration = Duration::from_secs(1);
/// How long one question after it may take.
const ASK: Duration = Duration::from_secs(10);
/// Longest time to see whether somebody is there.
const REACH: Duration = Duration::from_secs(5);
/// Answers by which a target declines before it does anything.
pub(super) const DECLINED: [u16; 8] = [401, 403, 404, 405, 409, 412, 422, 429];

/// What an owner wrote of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The method.
    pub method: String,
    /// The address.
    pub endpoint: Endpoint,
    /// A JSON body; placeholders in it are filled.
    pub body: Option<String>,
    /// Codes that say that it was done.
    pub success: Vec<u16>,
    /// Where a job is asked for after 202.
    pub poll: Option<Poll>,
    /// How the job is followed that it begins.
    pub job: Option<Job>,
    /// The mark that goes into `If-Match`.
    pub if_match: Option<Mark>,
    /// Whether a 5xx is sure to have changed nothing.
    pub clean_failures: bool,
    /// The same for taking it back, where that is possible.
    pub undo: Option<Box<Settings>>,
}

/// How a job is followed.
#[derive(Clone, Debug, PartialEq)]
pub struct Poll {
    /// Where.
    pub endpoint: Endpoint,
    /// Which value of the answer.
    pub pointer: String,
    /// What it says when the job is done.
    pub done: Vec<String>,
    /// What it says when the job has failed.
    pub failed: Vec<String>,
    /// How often it is asked for.
    pub every: Duration,
}

impl Settings {
    /// A POST without a body.
    pub fn post(endpoint: Endpoint) -> Self {
        Self {
            method: "POST".to_owned(),
            endpoint,
            body: None,
            success: vec![200, 201, 204],
            poll: None,
            job: None,
            if_match: None,
            clean_failures: false,
            undo: None,
        }
    }
}

impl Poll {
    /// A job whose state stands at a pointer.
    pub fn new(endpoint: Endpoint, pointer: &str, done: &[&str], failed: &[&str]) -> Self {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self { endpoint, pointer: pointer.to_owned(), done: words(done), failed: words(failed), every: POLL }
    }
}

/// A request.
pub struct Http {
    settings: Settings,
    declaration: Declaration,
    identity: Option<Arc<dyn Probe>>,
}

impl Http {
    /// Checks a request.
    ///
    /// # Errors
    /// [`Invalid`] for a method or code that is none, a body that is no JSON, a fence or `if_match` without a probe, or a
    /// reversible act without `undo`.
    pub fn new(
        settings: Settings,
        declaration: Declaration,
        identity: Option<Arc<dyn Probe>>,
    ) -> Result<Self, Invalid> {
        check(&settings)?;
        if let Some(undo) = &settings.undo {
            check(undo).map_err(|invalid| invalid.within("undo"))?;
        }
        let cancels = settings.job.as_ref().is_some_and(|job| job.cancel.is_some());
        if declaration.reversible && !can_undo(&declaration, settings.undo.is_some(), cancels) {
            return Err(Invalid::new("undo", "is missing; it is declared reversible"));
        }
        if (!declaration.fence.is_empty() || settings.if_match.is_some()) && identity.is_none() {
            return Err(Invalid::new("fence", "needs a probe that reads what it compares"));
        }
        Ok(Self { settings, declaration, identity })
    }

    fn request<'a>(&'a self, intent: &Intent) -> Option<&'a Settings> {
        match intent.key.purpose {
            Purpose::Act => Some(&self.settings),
            Purpose::Undo => self.settings.undo.as_deref(),
        }
    }

    fn judge(&self, settings: &Settings, answer: &Answer, end: Instant) -> Acted {
        let said =
            |effect| Acted { output: Output::of(&String::from_utf8_lossy(&answer.body)), ..Acted::plain(effect) };
        if let Some(job) = &settings.job
            && (answer.status == 202 || settings.success.contains(&answer.status))
        {
            return match job.named(answer) {
                Ok(name) => Acted { reference: name.as_deref().map(Text::of), ..said(Effect::Done) },
                Err(why) => told(Effect::Unknown, why),
            };
        }
        match answer.status {
            202 => match &settings.poll {
                Some(poll) => follow(poll, end),
                None if settings.success.contains(&202) => said(Effect::Done),
                None => told(Effect::Unknown, "the target accepted it, and nobody can say what came of it"),
            },
            code if settings.success.contains(&code) => said(Effect::Done),
            code if DECLINED.contains(&code) => said(Effect::Refused),
            500..=599 if settings.clean_failures => said(Effect::Refused),
            300..=399 => told(Effect::Unknown, "the target answered with a redirect, which is not followed"),
            _ => said(Effect::Unknown),
        }
    }
}

fn check(settings: &Settings) -> Result<(), Invalid> {
    if !["POST", "PUT", "PATCH", "DELETE"].contains(&settings.method.as_str()) {
        return Err(Invalid::quoting("method", &settings.method, "one of POST, PUT, PATCH, DELETE"));
    }
    if settings.success.is_empty() || settings.success.iter().any(|code| !(200..300).contains(code)) {
        return Err(Invalid::new("success", "is a list of codes from 200 to 299"));
    }
    if let Some(body) = &settings.body {
        let filled = fill::ALL.iter().fold(body.clone(), |text, placeholder| text.replace(placeholder, "x"));
        if serde_json::from_str::<serde_json::Value>(&filled).is_err() {
            return Err(Invalid::new("body", "is no JSON; a placeholder stands within a text of it"));
        }
    }
    match &settings.poll {
        Some(poll) if !is_pointer(&poll.pointer) => Err(Invalid::quoting("poll", &poll.pointer, "a JSON pointer")),
        Some(poll) if poll.done.is_empty() => Err(Invalid::new("poll", "does not say what `done` is")),
        _ => Ok(()),
    }
}

/// Asks for a job until it has ended or the time is over.
fn follow(poll: &Poll, end: Instant) -> Acted {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return told(Effect::Unknown, "the job had not ended when the time was over");
        }
        let call = Call {
            method: "GET",
            endpoint: &poll.endpoint,
            headers: &[],
            body: None,
            timeout: left.min(ASK),
            most: ANSWER,
        };
        // A question that goes wrong is asked again: it changes nothing.
        if let Reply::Answer(answer) = call.send()
            && answer.status == 200
            && let Ok(json) = serde_json::from_slice::<serde_json::Value>(&answer.body)
        {
            let word = text_at(&json, &poll.pointer).unwrap_or_default();
            if poll.done.contains(&word) {
                return told(Effect::Done, &word);
            }
            if poll.failed.contains(&word) {
                return told(Effect::Unknown, &format!("the job says `{word}`"));
            }
        }
        std::thread::sleep(poll.every.min(end.saturating_duration_since(Instant::now())));
    }
}

impl Adapter for Http {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn available(&self) -> Availability {
        availability(reachable(&self.settings.endpoint, REACH).err().map(|fault| fault.to_string()))
    }

    fn identity(&self) -> Identity {
        identity_of(self.identity.as_ref())
    }

    fn rehearse(&self, _: &Intent) -> Vec<GateCheck> {
        let gate = "preconditions";
        without_dry_run(match self.available() {
            Availability::Available => GateCheck::passed(gate, "reachable"),
            Availability::Unavailable(why) => GateCheck::failed(gate, "reachable", why.as_str()),
        })
    }

    fn act(&self, intent: &Intent) -> Acted {
        if let Some(fenced) = fenced(&self.declaration, intent, || self.identity()) {
            return fenced;
        }
        if cancels(&self.declaration, intent)
            && let Some(job) = &self.settings.job
        {
            return job.cancel(intent.job.as_ref().map(Text::as_str));
        }
        let Some(settings) = self.request(intent) else {
            return told(Effect::NotStarted, "there is nothing to take it back by");
        };
        let body = match &settings.body {
            Some(template) => match fill::json(template, intent) {
                Some(body) => Some(body),
                None => return told(Effect::NotStarted, "there is no value for a placeholder"),
            },
            None => Some(String::new()),
        };
        let mut headers = vec![("idempotency-key".to_owned(), intent.key.to_string())];
        if settings.body.is_some() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        if let Some(mark) = settings.if_match {
            let Some(value) = intent.before.get(mark).filter(|value| is_tag(value)) else {
                return told(Effect::NotStarted, "what the target was before is not known");
            };
            headers.push(("if-match".to_owned(), format!("\"{value}\"")));
        }
        let timeout = Duration::from_millis(intent.timeout_ms.min(self.declaration.timeout_ms));
        let end = Instant::now() + timeout;
        let call = Call {
            method: &settings.method,
            endpoint: &settings.endpoint,
            headers: &headers,
            body: body.as_deref().map(str::as_bytes),
            timeout,
            most: ANSWER,
        };
        if begin(|| ()).is_none() {
            return told(Effect::NotStarted, "the stop switch is set, or cannot be read");
        }
        match call.send() {
            Reply::NotSent(fault) => told(Effect::NotStarted, &fault.to_string()),
            Reply::Lost(fault) => told(Effect::Unknown, &fault.to_string()),
            Reply::Answer(answer) => self.judge(settings, &answer, end),
        }
    }

    fn state(&self, receipt: &Receipt) -> WorldState {
        // Where a run shows the receipt, it was begun by it.
        match &self.settings.job {
            Some(job) if matches!(job.way, Way::Listed(_)) && receipt.key.purpose == Purpose::Act => {
                match job.state(receipt, None) {
                    JobState::Missing | JobState::CannotTell(_) => WorldState::CannotTell,
                    _ => WorldState::After,
                }
            }
            _ => world::compare(receipt, &self.identity()),
        }
    }

    fn follows(&self) -> Option<Following> {
        self.settings.job.as_ref().map(|job| job.following)
    }

    fn job(&self, receipt: &Receipt, job: Option<&str>) -> JobState {
        match &self.settings.job {
            Some(settings) => settings.state(receipt, job),
            None => JobState::CannotTell(Text::of("it is not followed")),
        }
    }
}

/// Whether a mark can stand between the quotes of an entity tag (RFC 9110, 8.8.3).
fn is_tag(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"')
}

#[cfg(test)]
mod tests;
