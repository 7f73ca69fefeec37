//! Redacting text and captured structures.

use sanare_core::redact::{Policy, Redactor};
use serde_json::{Value as Json, json};

/// A text without its secrets, and with `personal` without what names a person.
pub fn text(text: &str, personal: bool) -> String {
    Redactor::of(Policy { personal }).text(text).into_inner()
}

/// The same for a JSON text: names and neighbours count as evidence.
///
/// # Errors
/// What is wrong with the text, in words.
pub fn json_text(text: &str, personal: bool) -> Result<String, String> {
    let redacted = Redactor::of(Policy { personal }).json_text(text).map_err(|error| format!("not JSON: {error}"))?;
    Ok(redacted.into_inner())
}

/// Bytes as text without their secrets; what is not UTF-8 is written as `\\xNN`.
pub fn bytes(bytes: &[u8], personal: bool) -> String {
    Redactor::of(Policy { personal }).bytes(bytes).into_inner()
}

/// A structure without its secrets.
pub fn structure(value: &Json) -> Json {
    Redactor::standard().json(value).into_inner()
}

/// Answers one line `{"id", "form", "payload"}` with `{"id", "payload"}`.
///
/// # Errors
/// What is wrong with the line, in words.
pub fn line(line: &str, personal: bool) -> Result<String, String> {
    let item: Json = serde_json::from_str(line).map_err(|error| format!("not a JSON line: {error}"))?;
    let form = item["form"].as_str().ok_or("`form` is missing")?;
    let redactor = Redactor::of(Policy { personal });
    Ok(json!({ "id": item["id"], "payload": redactor.item(form, &item["payload"]) }).to_string())
}
