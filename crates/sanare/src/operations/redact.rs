//! Redacting text and captured structures.

use sanare_core::redact::{Policy, Redactor, members};
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
    if let Some(answer) = json_line(line, personal) {
        return Ok(answer);
    }
    let item: Json = serde_json::from_str(line).map_err(|error| format!("not a JSON line: {error}"))?;
    let form = item["form"].as_str().ok_or("`form` is missing")?;
    let redactor = Redactor::of(Policy { personal });
    Ok(json!({ "id": item["id"], "payload": redactor.item(form, &item["payload"]) }).to_string())
}

/// The answer to a line whose payload is data, which stays text where it holds no secret. Nothing if it is another line.
fn json_line(line: &str, personal: bool) -> Option<String> {
    let members = members(line)?;
    // Of two members of one name the last counts, as it does for who reads the line as a whole.
    let member = |name: &str| members.iter().rev().find(|member| member.0 == name).map(|member| member.1);
    let (form, payload) = (member("form")?, member("payload")?);
    serde_json::from_str(form).ok().filter(|form: &String| form != "text")?;
    let id: Json = member("id").map_or(Ok(Json::Null), serde_json::from_str).ok()?;
    let payload = Redactor::of(Policy { personal }).json_text(payload).ok()?;
    Some(format!("{{\"id\":{id},\"payload\":{payload}}}"))
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn lines_are_answered_by_their_form() {
        let check = |given: &str, expected: &str| assert_eq!(line(given, false).as_deref(), Ok(expected), "{given}");
        check(
            r#" {"id": 7, "form": "json", "payload": {"n": 1.50, "password": "q8Zk2LmX9"}} "#,
            r#"{"id":7,"payload":{"n": 1.50, "password": "<redacted:password>"}}"#,
        );
        check(
            r#"{"payload": "password=q8Zk2LmX9", "form": "text", "id": "a"}"#,
            r#"{"id":"a","payload":"password=<redacted:password>"}"#,
        );
        check(
            r#"{"form": "json", "payload": {"password": "q8Zk2LmX9"}, "payload": [1], "form": "j\u0073on"}"#,
            r#"{"id":null,"payload":[1]}"#,
        );
        check(r#"{"id": 1, "form": "json"}"#, r#"{"id":1,"payload":null}"#);
        check(r#"{"id": 1, "form": "json", "payload": {}}"#, r#"{"id":1,"payload":{}}"#);
        for wrong in ["", "[]", "{", r#"{"id": 1}"#, r#"{"id": 1, "form": "json", "payload": ["a]}"#, "{} {}"] {
            assert!(line(wrong, false).is_err(), "{wrong}");
        }
    }
}
