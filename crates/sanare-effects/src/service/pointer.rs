//! Values of an answer by JSON pointer.

use serde_json::Value as Json;

/// The text of a value at a pointer: texts as they are, numbers and booleans as JSON writes them.
pub(super) fn text_at(json: &Json, pointer: &str) -> Option<String> {
    match json.pointer(pointer)? {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(value) => Some(value.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Whether a text is a JSON pointer (RFC 6901).
pub(super) fn is_pointer(text: &str) -> bool {
    text.is_empty() || text.starts_with('/')
}
