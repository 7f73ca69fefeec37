//! The wire formats: what is sent to each provider, and what its answer says. Pure functions from values to values.

mod answer;

use serde_json::{Map, Value as Json, json};

use crate::hash::Digest;
use crate::model::prompt::{Prompt, ReplyForm};
use crate::model::request::Request;
use crate::model::setup::{JsonMode, Provider, Setup};
use crate::redact::{Redacted, Redactor};

pub use answer::{Answer, Unreadable, read};

/// One request as it goes out, without its key.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    /// Path and query; empty for a command.
    pub path: String,
    /// Headers beside host, length and key.
    pub headers: Vec<(String, String)>,
    /// The header that the key goes into, and what stands before it.
    pub key_header: (&'static str, &'static str),
    /// The body. It went through the redactor.
    pub body: Redacted<Json>,
}

/// What may change from one call to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Tokens of the reply.
    pub max_tokens: u64,
    /// How the reply is kept to JSON.
    pub json_mode: JsonMode,
    /// In a repair turn, the fixed sentence of the check that the last reply failed.
    pub complaint: Option<&'static str>,
}

/// The request for a provider.
pub fn outgoing(setup: &Setup, prompt: &Prompt, request: &Request, turn: Turn) -> Outgoing {
    let user = match turn.complaint {
        None => request.user.clone(),
        Some(sentence) => format!(
            "{}\nYour last reply was not accepted: {sentence}. Send the whole reply again as one JSON object.\n",
            request.user
        ),
    };
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let mut key_header = ("authorization", "Bearer ");
    let (path, body) = match setup.provider {
        Provider::OpenAi | Provider::Compatible => {
            (setup.base.join(&setup.chat_path), chat(setup, prompt, &request.system, &user, turn))
        }
        Provider::Azure => {
            key_header = ("api-key", "");
            let path = format!(
                "/openai/deployments/{}/chat/completions?api-version={}",
                percent(&setup.model),
                percent(&setup.api_version)
            );
            (setup.base.join(&path), chat(setup, prompt, &request.system, &user, turn))
        }
        Provider::Anthropic => {
            if !setup.bearer {
                key_header = ("x-api-key", "");
            }
            headers.push(("anthropic-version".to_owned(), setup.api_version.clone()));
            (setup.base.join("/v1/messages"), anthropic(setup, &request.system, &user, turn))
        }
        Provider::Ollama => (setup.base.join("/api/chat"), ollama(setup, prompt, &request.system, &user, turn)),
        Provider::Command => {
            let body = json!({
                "format": 1,
                "prompt": { "id": prompt.id, "version": prompt.version, "hash": prompt.hash.as_str() },
                "system": request.system,
                "user": user,
                "reply": reply_schema(prompt.reply),
            });
            (String::new(), body)
        }
    };
    Outgoing { path, headers, key_header, body: Redactor::standard().json_owned(body) }
}

fn chat(setup: &Setup, prompt: &Prompt, system: &str, user: &str, turn: Turn) -> Json {
    let mut body = Map::new();
    if setup.provider != Provider::Azure {
        body.insert("model".to_owned(), json!(setup.model));
    }
    body.insert("messages".to_owned(), messages(Some(system), user));
    let limit = match setup.provider {
        Provider::Compatible => "max_tokens",
        _ => "max_completion_tokens",
    };
    if !["max_tokens", "max_completion_tokens"].iter().any(|key| setup.params.contains_key(*key)) {
        body.insert(limit.to_owned(), json!(turn.max_tokens));
    }
    match turn.json_mode {
        JsonMode::Schema => {
            let schema =
                json!({ "name": reply_name(prompt.reply), "strict": true, "schema": reply_schema(prompt.reply) });
            body.insert("response_format".to_owned(), json!({ "type": "json_schema", "json_schema": schema }));
        }
        JsonMode::Object => {
            body.insert("response_format".to_owned(), json!({ "type": "json_object" }));
        }
        JsonMode::Off => {}
    }
    body.extend(setup.params.clone());
    Json::Object(body)
}

fn anthropic(setup: &Setup, system: &str, user: &str, turn: Turn) -> Json {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(setup.model));
    body.insert("max_tokens".to_owned(), json!(turn.max_tokens));
    body.insert("system".to_owned(), json!(system));
    body.insert("messages".to_owned(), messages(None, user));
    body.extend(setup.params.clone());
    Json::Object(body)
}

fn ollama(setup: &Setup, prompt: &Prompt, system: &str, user: &str, turn: Turn) -> Json {
    let mut options = Map::new();
    options.insert("num_predict".to_owned(), json!(turn.max_tokens));
    options.extend(setup.params.clone());
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(setup.model));
    body.insert("messages".to_owned(), messages(Some(system), user));
    body.insert("stream".to_owned(), json!(false));
    match turn.json_mode {
        JsonMode::Schema => {
            body.insert("format".to_owned(), reply_schema(prompt.reply));
        }
        JsonMode::Object => {
            body.insert("format".to_owned(), json!("json"));
        }
        JsonMode::Off => {}
    }
    body.insert("options".to_owned(), Json::Object(options));
    Json::Object(body)
}

fn messages(system: Option<&str>, user: &str) -> Json {
    let mut list: Vec<Json> = system.map(|text| json!({ "role": "system", "content": text })).into_iter().collect();
    list.push(json!({ "role": "user", "content": user }));
    Json::Array(list)
}

fn reply_name(form: ReplyForm) -> &'static str {
    match form {
        ReplyForm::Repair => "repair",
        ReplyForm::Diagnosis => "diagnosis",
    }
}

/// The reply's form as JSON Schema, for endpoints that hold a model to it.
pub fn reply_schema(form: ReplyForm) -> Json {
    let ninth = match form {
        ReplyForm::Repair => "candidate",
        ReplyForm::Diagnosis => "action",
    };
    let text = json!({ "type": "string" });
    let text_or_null = json!({ "type": ["string", "null"] });
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let properties = json!({
        "summary": text, "confidence": { "type": "number" }, "probable_cause": text_or_null,
        "evidence_used": list, "alternatives": list, "missing_information": list,
        ninth: text_or_null, "rationale": text_or_null, "expected_outcome": text_or_null,
    });
    let names: Vec<&String> = properties.as_object().map(|map| map.keys().collect()).unwrap_or_default();
    json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
}

/// What tells two exchanges apart on a cassette: provider, path and body, whatever the marker of the call was.
pub fn exchange_key(setup: &Setup, outgoing: &Outgoing) -> Digest {
    let body = outgoing.body.as_ref().to_string();
    let marker = body.split_once("<<<DATA ").and_then(|(_, rest)| rest.split_once(">>>")).map(|(marker, _)| marker);
    let body = match marker {
        Some(marker) if !marker.is_empty() => body.replace(marker, "marker"),
        _ => body,
    };
    Digest::of_parts(&[setup.provider.word().as_bytes(), outgoing.path.as_bytes(), body.as_bytes()])
}

/// Whether a refusal speaks of the form of the reply that we asked for; then it is asked for no more.
pub fn refuses_reply_form(status: u16, body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body.get(..body.len().min(8_192)).unwrap_or_default()).to_lowercase();
    matches!(status, 400 | 404 | 415 | 422 | 501)
        && ["response_format", "json_schema", "structured output", "\"format\"", "json mode"]
            .iter()
            .any(|word| text.contains(word))
}

/// The owner's parameters that a refusal names.
pub fn refused_params(setup: &Setup, status: u16, body: &[u8]) -> Vec<String> {
    if !matches!(status, 400 | 422) {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(body.get(..body.len().min(8_192)).unwrap_or_default()).into_owned();
    let is_name = |symbol: char| symbol.is_ascii_alphanumeric() || symbol == '_';
    let words: Vec<&str> = text.split(|symbol| !is_name(symbol)).collect();
    setup.params.keys().filter(|key| words.contains(&key.as_str())).cloned().collect()
}

fn percent(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests;
