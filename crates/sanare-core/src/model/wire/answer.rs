//! What a provider's answer says: the model's text, whether it was cut off, what it cost.

use serde_json::Value as Json;

use crate::model::setup::Provider;

/// A provider's answer, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The model's own text.
    pub text: String,
    /// Whether it stopped at the limit of tokens.
    pub cut_off: bool,
    /// Tokens in and out, as far as they are reported.
    pub tokens: Option<(u64, u64)>,
}

/// An answer in which there is no text of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not JSON: an error page, prose.
    #[error("the provider's answer is not JSON")]
    NotJson,
    /// It has another form.
    #[error("the provider's answer has another form than its interface says")]
    OtherForm,
    /// The model declined.
    #[error("the model declined to answer")]
    Declined,
}

/// Reads an answer with status 200.
///
/// # Errors
/// [`Unreadable`].
pub fn read(provider: Provider, body: &[u8]) -> Result<Answer, Unreadable> {
    if provider == Provider::Command {
        return Ok(Answer { text: String::from_utf8_lossy(body).into_owned(), cut_off: false, tokens: None });
    }
    let json: Json = serde_json::from_slice(body).map_err(|_| Unreadable::NotJson)?;
    match provider {
        Provider::Anthropic => anthropic(&json),
        Provider::Ollama => ollama(&json),
        _ => chat(&json),
    }
}

fn chat(json: &Json) -> Result<Answer, Unreadable> {
    let choice = &json["choices"][0];
    let message = &choice["message"];
    if message["refusal"].as_str().is_some_and(|text| !text.is_empty()) {
        return Err(Unreadable::Declined);
    }
    let text = match &message["content"] {
        Json::String(text) => text.clone(),
        Json::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        // A model that spent all its tokens on thinking has said nothing yet.
        Json::Null if choice["finish_reason"] == "length" => String::new(),
        _ => return Err(Unreadable::OtherForm),
    };
    let usage = &json["usage"];
    Ok(Answer {
        text,
        cut_off: choice["finish_reason"] == "length",
        tokens: pair(&usage["prompt_tokens"], &usage["completion_tokens"]),
    })
}

fn anthropic(json: &Json) -> Result<Answer, Unreadable> {
    if json["stop_reason"] == "refusal" {
        return Err(Unreadable::Declined);
    }
    let parts = json["content"].as_array().ok_or(Unreadable::OtherForm)?;
    let text = parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str()).collect();
    let usage = &json["usage"];
    let cached: u64 =
        ["cache_creation_input_tokens", "cache_read_input_tokens"].iter().filter_map(|key| usage[*key].as_u64()).sum();
    let tokens = pair(&usage["input_tokens"], &usage["output_tokens"]).map(|(sent, got)| (sent + cached, got));
    Ok(Answer { text, cut_off: json["stop_reason"] == "max_tokens", tokens })
}

fn ollama(json: &Json) -> Result<Answer, Unreadable> {
    let text = json["message"]["content"].as_str().ok_or(Unreadable::OtherForm)?.to_owned();
    Ok(Answer {
        text,
        cut_off: json["done_reason"] == "length",
        tokens: pair(&json["prompt_eval_count"], &json["eval_count"]),
    })
}

fn pair(sent: &Json, got: &Json) -> Option<(u64, u64)> {
    sent.as_u64().zip(got.as_u64())
}
