//! Health probes: a configured request on the path that users use, and who answered it (S28).

use std::time::{Duration, Instant};

use sanare_core::service::port::{Answered, Probe};
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::word::Health;
use sanare_core::service::{Application, Component, Draft, Invalid, ObservedValue, Signal, Text};
use serde_json::Value as Json;

use super::client::{Answer, Call, Reply};
use super::endpoint::Endpoint;
use super::pointer::{is_pointer, text_at};

/// Longest answer that is looked at, and how much of it a person is shown.
const ANSWER: usize = 1024 * 1024;
const SHOWN: usize = 2 * 1024;

/// What an answer has to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A value at a JSON pointer, of any content.
    Present(String),
    /// This text at a JSON pointer.
    Equals(String, String),
    /// This text anywhere in the body.
    Contains(String),
}

/// What an owner wrote of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Its name.
    pub name: String,
    /// `GET` or `POST`.
    pub method: String,
    /// The address.
    pub endpoint: Endpoint,
    /// What is sent, read from a file when the configuration is loaded.
    pub body: Option<Vec<u8>>,
    /// The body's type.
    pub content_type: String,
    /// How long it may take; 5 s by default.
    pub timeout: Duration,
    /// How often it is made; 15 s by default, 5 s at least.
    pub every: Duration,
    /// The code that is right.
    pub status: u16,
    /// What the answer has to hold.
    pub expected: Vec<Expected>,
    /// Where it says who answers.
    pub marks: Vec<(Mark, String)>,
}

impl Settings {
    /// A GET that has to answer 200 within five seconds.
    pub fn get(name: &str, endpoint: Endpoint) -> Self {
        Self {
            name: name.to_owned(),
            method: "GET".to_owned(),
            endpoint,
            body: None,
            content_type: "application/json".to_owned(),
            timeout: Duration::from_secs(5),
            every: Duration::from_secs(15),
            status: 200,
            expected: Vec::new(),
            marks: Vec::new(),
        }
    }
}

/// A probe.
#[derive(Clone, Debug)]
pub struct HttpProbe {
    settings: Settings,
    signal: Signal,
}

/// Shortest time between two probes, or two pulls.
pub(super) const FLOOR: Duration = Duration::from_secs(5);

impl HttpProbe {
    /// Checks a probe.
    ///
    /// # Errors
    /// [`Invalid`] for a method, a pointer or a time limit that is none.
    pub fn new(settings: Settings) -> Result<Self, Invalid> {
        if !["GET", "POST"].contains(&settings.method.as_str()) {
            return Err(Invalid::quoting("method", &settings.method, "GET or POST"));
        }
        if settings.timeout.is_zero() || settings.timeout > Duration::from_secs(60) {
            return Err(Invalid::new("timeout", "goes to 60s"));
        }
        if settings.every < FLOOR {
            return Err(Invalid::new("every", "is under 5s"));
        }
        if settings.name.contains('/') {
            return Err(Invalid::quoting("name", &settings.name, "a name without `/`"));
        }
        let signal = Signal::parse(format!("probe/{}", settings.name)).map_err(|it| Invalid::new("name", it.reason))?;
        if !settings.content_type.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(Invalid::new("content_type", "has a character that no header has"));
        }
        let pointers =
            settings.marks.iter().map(|(_, pointer)| pointer).chain(settings.expected.iter().filter_map(|expected| {
                match expected {
                    Expected::Present(pointer) | Expected::Equals(pointer, _) => Some(pointer),
                    Expected::Contains(_) => None,
                }
            }));
        for pointer in pointers {
            if !is_pointer(pointer) {
                return Err(Invalid::quoting("pointer", pointer, "a JSON pointer, such as /model_version"));
            }
        }
        Ok(Self { settings, signal })
    }

    /// How often it is made.
    pub fn every(&self) -> Duration {
        self.settings.every
    }

    /// An answer as observations: `probe/NAME` passes or not; how long it took, if it did; and, where it is known who should
    /// answer, `probe/NAME/instance` and `probe/NAME/version`.
    pub fn drafts(
        &self,
        application: &Application,
        component: &Component,
        answered: &Answered,
        expected: &Identity,
    ) -> Vec<Draft> {
        let draft = |suffix: &str, value: ObservedValue| {
            let signal = Signal::parse(format!("{}{suffix}", self.signal)).unwrap_or_else(|_| self.signal.clone());
            Draft { component: component.clone(), ..Draft::new(application.clone(), signal, value) }
        };
        let health = |status: Health, detail: Option<Text>| ObservedValue::Health { status, detail };
        let mut drafts = vec![draft("", health(answered.health, answered.detail.clone()))];
        if answered.health != Health::Pass {
            return drafts;
        }
        let millis = u32::try_from(answered.millis).unwrap_or(u32::MAX);
        drafts.push(Draft { unit: Some("ms".to_owned()), ..draft("/ms", ObservedValue::metric(f64::from(millis))) });
        let strangers = strangers(answered, expected);
        for (mark, suffix, stranger) in
            [(Mark::Instance, "/instance", Stranger::Instance), (Mark::ServedVersion, "/version", Stranger::Version)]
        {
            if expected.get(mark).is_some() {
                let right = if strangers.contains(&stranger) { Health::Fail } else { Health::Pass };
                drafts.push(draft(suffix, health(right, None)));
            }
        }
        drafts
    }

    /// Why an answer does not pass, and who gave it.
    fn judge(&self, answer: &Answer) -> (Option<String>, Identity) {
        let json: Option<Json> = serde_json::from_slice(&answer.body).ok().filter(|_| answer.whole);
        let mut identity = Identity::default();
        for (mark, pointer) in &self.settings.marks {
            if let Some(value) = json.as_ref().and_then(|json| text_at(json, pointer)) {
                identity = identity.with(*mark, value);
            }
        }
        (self.fault(answer, json.as_ref()), identity)
    }

    fn fault(&self, answer: &Answer, json: Option<&Json>) -> Option<String> {
        let shown = || {
            let start = answer.body.get(..SHOWN.min(answer.body.len())).unwrap_or_default();
            Text::<SHOWN>::of(&String::from_utf8_lossy(start)).to_string()
        };
        if answer.status != self.settings.status {
            return Some(format!("status {}: {}", answer.status, shown()));
        }
        if answer.age.is_some_and(|age| age > 0) {
            return Some("the answer comes from a cache".to_owned());
        }
        if !answer.whole {
            return Some("the answer is longer than 1 MiB".to_owned());
        }
        for expected in &self.settings.expected {
            let missing = match expected {
                Expected::Present(pointer) => json.is_none_or(|json| json.pointer(pointer).is_none()),
                Expected::Equals(pointer, wanted) => {
                    json.and_then(|json| text_at(json, pointer)).as_ref() != Some(wanted)
                }
                Expected::Contains(wanted) => !String::from_utf8_lossy(&answer.body).contains(wanted.as_str()),
            };
            if missing {
                return Some(format!("the answer is not what it should be: {}", shown()));
            }
        }
        None
    }
}

impl Probe for HttpProbe {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn ask(&self) -> Answered {
        let mut headers = vec![("cache-control".to_owned(), "no-store".to_owned())];
        if self.settings.body.is_some() {
            headers.push(("content-type".to_owned(), self.settings.content_type.clone()));
        }
        let call = Call {
            method: &self.settings.method,
            endpoint: &self.settings.endpoint,
            headers: &headers,
            body: self.settings.body.as_deref(),
            timeout: self.settings.timeout,
            most: ANSWER,
        };
        let begun = Instant::now();
        let reply = call.send();
        let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (health, identity, detail) = match reply {
            // A key that is not there is our own failure: it says nothing about the service.
            Reply::NotSent(fault @ sanare_core::port::CallFault::NoKey(_)) => {
                (Health::Unknown, Identity::default(), Some(fault.to_string()))
            }
            Reply::NotSent(fault) | Reply::Lost(fault) => (Health::Fail, Identity::default(), Some(fault.to_string())),
            Reply::Answer(answer) => {
                let (fault, identity) = self.judge(&answer);
                (if fault.is_none() { Health::Pass } else { Health::Fail }, identity, fault)
            }
        };
        Answered { health, identity, millis, detail: detail.map(|detail| Text::of(&detail)) }
    }
}

/// What of an answer is no longer what was expected of who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stranger {
    /// Another instance than was expected.
    Instance,
    /// Another version than the registry names, or none.
    Version,
}

/// Whether the right one answered: by the marks that are known of it.
pub fn strangers(answered: &Answered, expected: &Identity) -> Vec<Stranger> {
    let other = |mark: Mark| expected.get(mark).is_some() && answered.identity.get(mark) != expected.get(mark);
    let mut found = Vec::new();
    if answered.health == Health::Pass && other(Mark::Instance) {
        found.push(Stranger::Instance);
    }
    if answered.health == Health::Pass && other(Mark::ServedVersion) {
        found.push(Stranger::Version);
    }
    found
}

#[cfg(test)]
mod kinds;
#[cfg(test)]
mod tests;
