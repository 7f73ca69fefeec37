//! What is read of an MLflow registry, and the two writes that we make (S29, S86).
//!
//! The paths and fields are those of MLflow's REST interface 2.0. An absent alias answers 400 with the code
//! `INVALID_PARAMETER_VALUE`, an absent model or version 404 with `RESOURCE_DOES_NOT_EXIST`: both are states, not errors.

use std::collections::BTreeMap;
use std::time::Duration;

use sanare_core::service::{Invalid, Moment, Version};
use serde_json::{Value as Json, json};

use crate::service::client::{Answer, Call, Reply};
use crate::service::endpoint::{Endpoint, percent};

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an answer.
const ANSWER: usize = 1024 * 1024;

/// A registry.
#[derive(Clone, Debug)]
pub struct Registry {
    endpoint: Endpoint,
    timeout: Duration,
}

/// A model and the alias that its service follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    name: String,
    alias: String,
}

/// Where an alias is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alias {
    /// At a version.
    At(Version),
    /// There is none.
    Absent,
}

/// A version that the registry knows, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionState {
    /// It does.
    Known(Known),
    /// It does not, or no more.
    Absent,
}

/// What the registry says of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Such as `READY`.
    pub status: String,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// The run that it came from.
    pub run: Option<String>,
    /// When it was made, where the registry says so.
    pub created: Option<Moment>,
}

impl Known {
    /// Whether it can be loaded.
    pub fn is_ready(&self) -> bool {
        self.status == "READY"
    }
}

/// Everything that is read of a model at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Where the alias is.
    pub alias: Alias,
    /// What is known of the version that it names; nothing without an alias.
    pub version: Option<VersionState>,
}

/// Why a registry did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryFault {
    /// Surely nothing was sent.
    #[error("the registry cannot be reached: {0}")]
    NotSent(String),
    /// It was sent, and what came of it is not known.
    #[error("the registry gave no answer that can be read: {0}")]
    Lost(String),
    /// It said no.
    #[error("the registry declined: {0}")]
    Declined(String),
}

impl Model {
    /// A model and an alias.
    ///
    /// # Errors
    /// [`Invalid`] for names that MLflow does not take: a model with `/` or `:`, an alias that is `latest`, `v` and digits,
    /// or has other characters than letters, digits, `_` and `-`.
    pub fn new(name: &str, alias: &str) -> Result<Self, Invalid> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if name.is_empty() || name.len() > 100 || !name.bytes().all(plain) || name.starts_with('.') {
            return Err(Invalid::quoting("model", name, "1 to 100 of letters, digits, `.`, `_`, `-`"));
        }
        let symbol = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if alias.is_empty() || alias.len() > 100 || !alias.bytes().all(symbol) {
            return Err(Invalid::quoting("alias", alias, "1 to 100 of letters, digits, `_`, `-`"));
        }
        let lower = alias.to_ascii_lowercase();
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if lower == "latest" || lower.strip_prefix('v').is_some_and(digits) {
            return Err(Invalid::quoting("alias", alias, "`latest` and `v` with digits are the registry's own"));
        }
        Ok(Self { name: name.to_owned(), alias: alias.to_owned() })
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The alias.
    pub fn alias(&self) -> &str {
        &self.alias
    }
}

impl Registry {
    /// A registry at an address.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, timeout: TIMEOUT }
    }

    /// Host and port.
    pub fn authority(&self) -> String {
        self.endpoint.authority()
    }

    /// Alias and version together.
    ///
    /// # Errors
    /// [`RegistryFault`] when the registry cannot be read: that says nothing about the alias.
    pub fn state(&self, model: &Model) -> Result<State, RegistryFault> {
        let alias = self.alias(model)?;
        let version = match &alias {
            Alias::At(version) => Some(self.version(model, version)?),
            Alias::Absent => None,
        };
        Ok(State { alias, version })
    }

    /// Where an alias is.
    ///
    /// # Errors
    /// [`RegistryFault`] when it cannot be read.
    pub fn alias(&self, model: &Model) -> Result<Alias, RegistryFault> {
        let path = format!("registered-models/alias?name={}&alias={}", percent(&model.name), percent(&model.alias));
        let answer = self.ask("GET", &path, None)?;
        match answer.status {
            200 => {
                let json = read(&answer)?;
                let version = json.pointer("/model_version/version").and_then(Json::as_str);
                let version = version.and_then(|text| Version::parse(text).ok());
                version.map(Alias::At).ok_or_else(|| RegistryFault::Lost("it names no version".to_owned()))
            }
            400 if code(&answer) == "INVALID_PARAMETER_VALUE" => Ok(Alias::Absent),
            404 if code(&answer) == "RESOURCE_DOES_NOT_EXIST" => Ok(Alias::Absent),
            _ => Err(declined(&answer)),
        }
    }

    /// What is known of a version.
    ///
    /// # Errors
    /// [`RegistryFault`] when it cannot be read.
    pub fn version(&self, model: &Model, version: &Version) -> Result<VersionState, RegistryFault> {
        let path = format!("model-versions/get?name={}&version={}", percent(&model.name), percent(version.as_str()));
        let answer = self.ask("GET", &path, None)?;
        match answer.status {
            200 => {
                let json = read(&answer)?;
                let at = |key: &str| json.pointer(&format!("/model_version/{key}"));
                let text = |key: &str| at(key).and_then(Json::as_str).filter(|text| !text.is_empty());
                let mut tags = BTreeMap::new();
                for tag in at("tags").and_then(Json::as_array).into_iter().flatten() {
                    let part = |key: &str| tag.get(key).and_then(Json::as_str).map(str::to_owned);
                    if let (Some(key), Some(value)) = (part("key"), part("value")) {
                        tags.insert(key, value);
                    }
                }
                let status = text("status").unwrap_or("READY").to_owned();
                // Milliseconds, as a number or, as protocol buffers write them, as a text.
                let created = at("creation_timestamp");
                let created = created.and_then(|at| at.as_u64().or_else(|| at.as_str()?.parse().ok()));
                let created = created.filter(|millis| *millis > 0).map(Moment::from_millis);
                Ok(VersionState::Known(Known { status, tags, run: text("run_id").map(str::to_owned), created }))
            }
            404 if code(&answer) == "RESOURCE_DOES_NOT_EXIST" => Ok(VersionState::Absent),
            _ => Err(declined(&answer)),
        }
    }

    /// Tags a version.
    ///
    /// # Errors
    /// [`RegistryFault`] when it was not done, or nobody knows.
    pub fn tag(&self, model: &Model, version: &Version, key: &str, value: &str) -> Result<(), RegistryFault> {
        let body = json!({ "name": model.name, "version": version, "key": key, "value": value });
        self.write("model-versions/set-tag", &body)
    }

    /// Moves the alias to a version.
    ///
    /// # Errors
    /// [`RegistryFault`] when it was not done, or nobody knows.
    pub fn move_alias(&self, model: &Model, version: &Version) -> Result<(), RegistryFault> {
        let body = json!({ "name": model.name, "alias": model.alias, "version": version });
        self.write("registered-models/alias", &body)
    }

    fn write(&self, path: &str, body: &Json) -> Result<(), RegistryFault> {
        let answer = self.ask("POST", path, Some(body.to_string()))?;
        match answer.status {
            200 => Ok(()),
            400..=499 => Err(declined(&answer)),
            other => Err(RegistryFault::Lost(format!("status {other}"))),
        }
    }

    fn ask(&self, method: &str, path: &str, body: Option<String>) -> Result<Answer, RegistryFault> {
        let endpoint = self.endpoint.at(format!("/api/2.0/mlflow/{path}"));
        let headers = [("content-type".to_owned(), "application/json".to_owned())];
        let call = Call {
            method,
            endpoint: &endpoint,
            headers: if body.is_some() { &headers } else { &[] },
            body: body.as_deref().map(str::as_bytes),
            timeout: self.timeout,
            most: ANSWER,
        };
        match call.send() {
            Reply::NotSent(fault) => Err(RegistryFault::NotSent(fault.to_string())),
            Reply::Lost(fault) => Err(RegistryFault::Lost(fault.to_string())),
            Reply::Answer(answer) => Ok(answer),
        }
    }
}

fn read(answer: &Answer) -> Result<Json, RegistryFault> {
    let json = serde_json::from_slice(&answer.body);
    json.ok().filter(|_| answer.whole).ok_or_else(|| RegistryFault::Lost("its answer is no JSON".to_owned()))
}

/// The registry's own code of an error, letters and `_` only: nothing else of a message is repeated.
fn code(answer: &Answer) -> String {
    let json: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
    let code = json.get("error_code").and_then(Json::as_str).unwrap_or_default();
    code.chars().filter(|symbol| symbol.is_ascii_uppercase() || *symbol == '_').take(60).collect()
}

/// An answer that is neither yes nor a known state.
fn declined(answer: &Answer) -> RegistryFault {
    let code = code(answer);
    let why =
        if code.is_empty() { format!("status {}", answer.status) } else { format!("status {}, {code}", answer.status) };
    if (400..500).contains(&answer.status) { RegistryFault::Declined(why) } else { RegistryFault::Lost(why) }
}

#[cfg(test)]
mod tests;
