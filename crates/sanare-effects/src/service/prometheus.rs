//! Pulling from Prometheus: an instant query, and beside it when its samples were taken (S27).
//!
//! An instant query stamps the time of asking and looks back up to five minutes: a series that has stopped still has a
//! value. Only `timestamp(…)` of the selector, or a query of the owner's own, tells how old it is.

use std::collections::BTreeMap;
use std::time::Duration;

use sanare_core::port::CallFault;
use sanare_core::service::{Application, Component, Draft, Flag, Invalid, Labels, Moment, ObservedValue, Signal};
use serde_json::Value as Json;

use super::client::{Call, Reply};
use super::endpoint::{Endpoint, percent};
use super::probe::FLOOR;

/// Bytes of an answer, series of an answer.
const ANSWER: usize = 4 * 1024 * 1024;
const SERIES: usize = 500;
/// How long one query may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What an owner wrote of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The server.
    pub endpoint: Endpoint,
    /// The query.
    pub query: String,
    /// A query that gives the times of its samples, with the same labels; for a plain selector it need not be told.
    pub timestamps: Option<String>,
    /// Labels that are kept; two series that then have the same are refused.
    pub labels: Vec<String>,
    /// The signal that its samples are readings of.
    pub signal: Signal,
    /// How often it is pulled: 5 s at least.
    pub every: Duration,
}

/// How often a query is pulled by default.
pub const EVERY: Duration = Duration::from_secs(30);

/// A query that is pulled.
#[derive(Clone, Debug)]
pub struct Pull {
    settings: Settings,
    timestamps: Option<String>,
    timeout: Duration,
}

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The labels that are kept.
    pub labels: Labels,
    /// Its number; NaN and infinite ones among them.
    pub value: f64,
    /// When it was taken, where that is known. Without it a reading proves nothing (`freshness_unknown`).
    pub at: Option<Moment>,
}

/// Why nothing was pulled: a missing signal of the source, not a reading.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PullFault {
    /// No answer.
    #[error("no answer: {0}")]
    NoAnswer(CallFault),
    /// An answer that is none.
    #[error("status {0}")]
    Status(u16),
    /// An answer that cannot be read.
    #[error("the answer {0}")]
    Unreadable(&'static str),
}

impl Pull {
    /// Checks a query.
    ///
    /// # Errors
    /// [`Invalid`] for a blank query or a label that has no label's name.
    pub fn new(settings: Settings) -> Result<Self, Invalid> {
        if settings.query.trim().is_empty() || settings.query.len() > 4_096 {
            return Err(Invalid::new("query", "is blank or longer than 4,096 characters"));
        }
        if settings.every < FLOOR {
            return Err(Invalid::new("every", "is under 5s"));
        }
        for label in &settings.labels {
            Labels::new(BTreeMap::from([(label.clone(), String::new())]))?;
        }
        let plain = is_selector(settings.query.trim()).then(|| format!("timestamp({})", settings.query.trim()));
        let timestamps = settings.timestamps.clone().or(plain);
        Ok(Self { settings, timestamps, timeout: TIMEOUT })
    }

    /// Asks once. No series is an empty list, and no error (S33).
    ///
    /// # Errors
    /// [`PullFault`] when there is no answer that can be read.
    pub fn pull(&self) -> Result<Vec<Sample>, PullFault> {
        let mut samples = self.ask(&self.settings.query, Some(&self.settings.labels))?;
        let times = match &self.timestamps {
            Some(query) if !samples.is_empty() => self.ask(query, Some(&self.settings.labels))?,
            _ => Vec::new(),
        };
        for sample in &mut samples {
            let time = times.iter().find(|time| time.labels == sample.labels);
            sample.at = time.and_then(|time| moment(time.value));
        }
        Ok(samples)
    }

    /// Looks once at what every series says, with all of its labels and without asking when it was taken.
    ///
    /// # Errors
    /// [`PullFault`] when there is no answer that can be read.
    pub fn look(&self) -> Result<Vec<Sample>, PullFault> {
        self.ask(&self.settings.query, None)
    }

    /// How often it is pulled.
    pub fn every(&self) -> Duration {
        self.settings.every
    }

    /// A sample as an observation, and the flag that intake sets on it where nobody knows how old it is.
    pub fn draft(&self, application: &Application, component: &Component, sample: &Sample) -> (Draft, Option<Flag>) {
        let value = ObservedValue::metric(sample.value);
        let draft = Draft::new(application.clone(), self.settings.signal.clone(), value);
        let labels = sample.labels.clone();
        let flag = sample.at.is_none().then_some(Flag::FreshnessUnknown);
        (Draft { component: component.clone(), event_time: sample.at, labels, ..draft }, flag)
    }

    /// One question, of whose series these labels are kept; all without a list.
    fn ask(&self, query: &str, kept: Option<&[String]>) -> Result<Vec<Sample>, PullFault> {
        let endpoint = self.settings.endpoint.at(format!("/api/v1/query?timeout=10s&query={}", percent(query)));
        let call =
            Call { method: "GET", endpoint: &endpoint, headers: &[], body: None, timeout: self.timeout, most: ANSWER };
        let answer = match call.send() {
            Reply::NotSent(fault) | Reply::Lost(fault) => return Err(PullFault::NoAnswer(fault)),
            Reply::Answer(answer) => answer,
        };
        if answer.status != 200 {
            return Err(PullFault::Status(answer.status));
        }
        if !answer.whole {
            return Err(PullFault::Unreadable("is longer than 4 MiB"));
        }
        let json: Json = serde_json::from_slice(&answer.body).map_err(|_| PullFault::Unreadable("is no JSON"))?;
        if json.get("status").and_then(Json::as_str) != Some("success") {
            return Err(PullFault::Unreadable("is an error"));
        }
        samples(&json, kept)
    }
}

fn samples(json: &Json, kept: Option<&[String]>) -> Result<Vec<Sample>, PullFault> {
    let result = json.pointer("/data/result").ok_or(PullFault::Unreadable("has no result"))?;
    let series: Vec<(Labels, &Json)> = match json.pointer("/data/resultType").and_then(Json::as_str) {
        Some("vector") => {
            let list = result.as_array().ok_or(PullFault::Unreadable("has no list of series"))?;
            if list.len() > SERIES {
                return Err(PullFault::Unreadable("has over 500 series"));
            }
            let mut series = Vec::new();
            for item in list {
                let value = item.get("value").ok_or(PullFault::Unreadable("has a series without a value"))?;
                series.push((labels(item.get("metric"), kept)?, value));
            }
            series
        }
        Some("scalar") => vec![(Labels::default(), result)],
        _ => return Err(PullFault::Unreadable("is neither a vector nor a scalar")),
    };
    let mut samples: Vec<Sample> = Vec::new();
    for (labels, value) in series {
        if samples.iter().any(|sample| sample.labels == labels) {
            return Err(PullFault::Unreadable("has two series that the kept labels do not tell apart"));
        }
        let text = value.get(1).and_then(Json::as_str);
        let number = text.and_then(number).ok_or(PullFault::Unreadable("has a value that is no number"))?;
        samples.push(Sample { labels, value: number, at: None });
    }
    Ok(samples)
}

/// Labels of a series; its name is none of them unless it is asked for.
fn labels(metric: Option<&Json>, kept: Option<&[String]>) -> Result<Labels, PullFault> {
    let all = metric.and_then(Json::as_object).into_iter().flatten();
    let wanted = |name: &String| kept.map_or(name != "__name__", |kept| kept.contains(name));
    let texts = all.filter(|(name, _)| wanted(name)).filter_map(|(name, value)| Some((name, value.as_str()?)));
    let found: BTreeMap<String, String> = texts.map(|(name, value)| (name.clone(), value.to_owned())).collect();
    Labels::new(found).map_err(|_| PullFault::Unreadable("has a label that cannot be kept"))
}

/// A number as Prometheus writes it.
fn number(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "+Inf" | "Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        other => other.parse().ok(),
    }
}

fn moment(seconds: f64) -> Option<Moment> {
    let micros = seconds * 1e6;
    (micros.is_finite() && micros > 0.0).then(|| Moment::from_micros(micros as u64))
}

/// Whether a query is a bare selector, such as `up{job="a"}`: only then `timestamp(…)` of it is the time of its samples.
fn is_selector(query: &str) -> bool {
    let name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
    let end = query.bytes().position(|byte| !name(byte)).unwrap_or(query.len());
    let (head, rest) = query.split_at(end);
    let keyword = ["by", "without", "on", "ignoring", "bool", "offset"].contains(&head);
    if keyword || head.bytes().next().is_some_and(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let closed = || {
        let mut quoted = false;
        let mut escaped = false;
        for (place, symbol) in rest.char_indices() {
            match symbol {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                '}' if !quoted => return place + 1 == rest.len(),
                _ => {}
            }
        }
        false
    };
    match rest.bytes().next() {
        None => !head.is_empty(),
        Some(b'{') => closed(),
        Some(_) => false,
    }
}

#[cfg(test)]
mod real;
#[cfg(test)]
mod tests;
