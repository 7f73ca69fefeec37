//! What arrived in place of data: nothing, a web page, a message about an error, a reply that was cut.
//!
//! Only plain cases are told here, from the arguments of the call; whatever is doubtful goes on to the drift engine.

use crate::evidence::{Argument, Evidence};
use crate::value::Value;

/// What was found in place of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// No bytes at all, or white space only.
    Nothing,
    /// A web page.
    WebPage,
    /// An object that only tells of an error.
    ErrorObject,
    /// JSON that ends before its brackets close.
    CutJson,
}

impl Content {
    /// Its name in the record.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Self::Nothing => "nothing-in-it",
            Self::WebPage => "web-page",
            Self::ErrorObject => "error-object",
            Self::CutJson => "cut-json",
        }
    }

    /// The same for people.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Nothing => "there is nothing in the input",
            Self::WebPage => "a web page arrived in place of the data",
            Self::ErrorObject => "the reply is a message about an error, not the data",
            Self::CutJson => "the input ends in the middle",
        }
    }
}

/// Looks at every argument that holds text, bytes, a mapping or a file.
pub(super) fn of_call(evidence: &Evidence) -> Option<Content> {
    let found = evidence.arguments.iter().find_map(|argument| of_argument(argument, evidence.arguments.len() == 1))?;
    let expected = found == Content::WebPage && reads_markup(&evidence.source);
    (!expected).then_some(found)
}

fn of_argument(argument: &Argument, only_one: bool) -> Option<Content> {
    if let Some(file) = &argument.file {
        return of_bytes(&file.bytes, file.complete);
    }
    match &argument.value {
        Value::Text(text) => of_bytes(text.as_bytes(), true).filter(|found| only_one || *found != Content::Nothing),
        Value::Bytes(bytes) => of_bytes(bytes, true).filter(|found| only_one || *found != Content::Nothing),
        Value::Map(entries) => is_error(entries).then_some(Content::ErrorObject),
        _ => None,
    }
}

/// What these bytes are, if they are plainly no data. `complete` says that these are all of them.
fn of_bytes(bytes: &[u8], complete: bool) -> Option<Content> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii();
    if text.is_empty() {
        return complete.then_some(Content::Nothing);
    }
    if is_web_page(text) {
        return Some(Content::WebPage);
    }
    (complete && is_cut_json(text)).then_some(Content::CutJson)
}

fn is_web_page(text: &[u8]) -> bool {
    let mut text = text;
    while let Some(comment) = text.strip_prefix(b"<!--") {
        let Some(end) = comment.windows(3).position(|window| window == b"-->") else { return false };
        text = comment.get(end + 3..).unwrap_or_default().trim_ascii();
    }
    let begins = |word: &[u8]| text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
    begins(b"<!doctype html") || begins(b"<html>") || begins(b"<html ") || begins(b"<head>")
}

/// Whether code reads web pages anyway.
fn reads_markup(source: &str) -> bool {
    ["html", "HTML", "bs4", "BeautifulSoup", "lxml", "etree", "selectolax", "parsel"]
        .iter()
        .any(|word| source.contains(word))
}

/// JSON that begins as an object or a list of values and ends with brackets or a string open.
fn is_cut_json(text: &[u8]) -> bool {
    let mut marks = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    let begins = match (marks.next(), marks.next()) {
        (Some(b'{'), second) => matches!(second, None | Some(b'"')),
        (Some(b'['), second) => matches!(second, None | Some(b'{' | b'[' | b'"')),
        _ => false,
    };
    if !begins {
        return false;
    }
    let (mut depth, mut in_string, mut escaped) = (0_i64, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            // It closed once: whatever follows, this is not a cut object.
            return false;
        }
    }
    true
}

/// An object that names an error and holds nothing but plain words about it.
fn is_error(entries: &[(String, Value)]) -> bool {
    const NAMES: [&str; 8] = [
        "error",
        "errors",
        "error_message",
        "errormessage",
        "error_description",
        "fault",
        "exception",
        "error message",
    ];
    const ABOUT: [&str; 22] = [
        "message",
        "msg",
        "detail",
        "details",
        "code",
        "status",
        "status_code",
        "statuscode",
        "error_code",
        "errorcode",
        "type",
        "title",
        "instance",
        "path",
        "timestamp",
        "request_id",
        "requestid",
        "trace_id",
        "documentation_url",
        "success",
        "ok",
        "reason",
    ];
    let is_plain = |value: &Value| match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => true,
        Value::Map(inner) => inner.iter().all(|(_, value)| !matches!(value, Value::List(_) | Value::Map(_))),
        Value::List(items) => {
            items.len() <= 20 && items.iter().all(|item| matches!(item, Value::Text(_) | Value::Map(_)))
        }
        _ => false,
    };
    let mut named = false;
    for (name, value) in entries {
        let name = name.to_lowercase();
        let names_it = NAMES.contains(&name.as_str()) && !matches!(value, Value::Null | Value::Bool(false));
        if !(names_it || ABOUT.contains(&name.as_str())) || !is_plain(value) {
            return false;
        }
        named |= names_it;
    }
    named || says_not_ok(entries)
}

/// `{"status": "error", "message": …}` and `{"message": …, "documentation_url": …}`.
fn says_not_ok(entries: &[(String, Value)]) -> bool {
    let has = |wanted: &str| entries.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value);
    let words = ["message", "msg", "detail", "reason", "title"];
    let explained = words.iter().any(|word| matches!(has(word), Some(Value::Text(_))));
    let failed = match has("status").or(has("ok")).or(has("success")).or(has("code")).or(has("status_code")) {
        Some(Value::Text(text)) => ["error", "fail", "failed", "failure"].contains(&text.to_lowercase().as_str()),
        Some(Value::Bool(fine)) => !fine,
        Some(Value::Int(code)) => (400..=599).contains(code),
        _ => has("documentation_url").is_some(),
    };
    explained && failed
}

#[cfg(test)]
mod tests {
    use super::{Content, is_error, of_bytes};
    use crate::value::Value;

    #[test]
    fn bytes_that_are_no_data() {
        let check =
            |text: &str, expected: Option<Content>| assert_eq!(of_bytes(text.as_bytes(), true), expected, "{text}");
        check("", Some(Content::Nothing));
        check("\u{feff} \r\n", Some(Content::Nothing));
        check("<!DOCTYPE html>\n<html>", Some(Content::WebPage));
        check("<!-- cached -->\n<HTML lang=de>", Some(Content::WebPage));
        check("<?xml version='1.0'?><rss/>", None);
        check("date,amount\n", None);
        check(r#"{"a": [1, 2"#, Some(Content::CutJson));
        check(r#"[{"a": "]}"#, Some(Content::CutJson));
        check(r#"{"a": "\"}"#, Some(Content::CutJson));
        check(r#"{"a": 1}"#, None);
        check("{\"a\": 1}\n{\"a\"", None);
        check("[section]\nkey = 1", None);
        check("{name} is a template", None);
        assert_eq!(of_bytes(br#"{"a": [1"#, false), None, "only the first part was read");
        assert_eq!(of_bytes(b"", false), None);
    }

    #[test]
    fn objects_that_only_tell_of_an_error() {
        let text = |text: &str| Value::Text(text.to_owned());
        let check = |entries: &[(&str, Value)], expected: bool| {
            let entries: Vec<(String, Value)> = entries.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
            assert_eq!(is_error(&entries), expected, "{entries:?}");
        };
        check(&[("error", text("invalid key"))], true);
        check(&[("error", Value::Map(vec![("code".to_owned(), Value::Int(13))])), ("status", Value::Int(400))], true);
        check(&[("message", text("Not Found")), ("documentation_url", text("https://x.invalid"))], true);
        check(&[("status", text("error")), ("message", text("quota"))], true);
        check(&[("ok", Value::Bool(false)), ("reason", text("closed"))], true);
        check(&[("error", Value::Null), ("items", Value::List(Vec::new()))], false);
        check(&[("error", Value::Null)], false);
        check(&[("status", text("ok")), ("message", text("fine"))], false);
        check(&[("code", text("A1")), ("title", text("Chair"))], false);
        check(&[("error", text("3 rows skipped")), ("rows", Value::List(Vec::new()))], false);
        check(&[], false);
    }
}
