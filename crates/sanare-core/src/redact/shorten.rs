//! Cutting what was redacted: never within a placeholder, and what was cut says so.

use serde_json::Value;

use super::place;
use crate::value::json::{shortened, uncut};

/// Cuts every text of a structure to the limit of its path; items of a list have the path of the list.
pub(super) fn texts(value: &mut Value, path: &mut Vec<String>, limit: &dyn Fn(&[String]) -> usize) {
    match value {
        Value::String(text) => {
            if let Some(short) = cut(text, limit(path)) {
                *text = short;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| texts(item, path, limit)),
        Value::Object(map) => {
            for (name, item) in map.iter_mut() {
                path.push(name.clone());
                texts(item, path, limit);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn cut(text: &str, limit: usize) -> Option<String> {
    let (body, whole) = uncut(text);
    let (at, _) = body.char_indices().nth(limit)?;
    let end = place::cut_before(body.as_bytes(), at);
    Some(shortened(body.get(..end)?, whole.unwrap_or_else(|| body.chars().count())))
}

#[cfg(test)]
mod tests {
    use crate::redact::Redactor;
    use serde_json::json;

    #[test]
    fn each_section_has_its_own_limit_and_no_cut_shows_half_a_secret() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        for limit in 0..60 {
            let value = json!({ "arguments": { "note": format!("see {token} there") }, "error": "x".repeat(50) });
            let cut = Redactor::standard().json(&value).cut_texts(&|path| match path {
                [first, ..] if first == "arguments" => limit,
                _ => 40,
            });
            let text = cut.as_ref()["arguments"]["note"].as_str().unwrap_or_default();
            assert!(!text.contains("a1B2c3"), "{text}");
            assert!(!text.contains('<') || text.contains('>'), "{text}");
            assert_eq!(cut.as_ref()["error"], json!(format!("{}… <50 characters>", "x".repeat(40))));
        }
    }
}
