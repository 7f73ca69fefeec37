//! What arrived is not the data at all: nothing, a page, an error, half of it. Nothing is repaired.

use sanare_core::outcome::Reason;
use sanare_core::value::Value;

use crate::code::table_reader::Form;
use crate::engine::refused;
use crate::kind::Subject;
use crate::names;
use crate::problem::Answer;

/// Words that name an error in a reply.
const ERROR_WORDS: &[&str] = &[
    "error",
    "errors",
    "error message",
    "errormessage",
    "error code",
    "message",
    "note",
    "information",
    "detail",
    "details",
    "fault",
    "exception",
    "reason",
    "failure",
    "msg",
    "status message",
];

/// Answers when an argument is no data.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    for argument in &subject.problem.arguments {
        let reader = tables
            .readers
            .iter()
            .find(|reader| reader.input.as_ref().is_some_and(|input| input.argument == argument.name));
        let tabular = reader.is_some();
        if let Some(file) = &argument.file {
            if let Some(said) =
                said_by_bytes(&file.bytes, reader.map(|reader| reader.form), subject.problem.source.as_str())
            {
                return Some(refused(Reason::NotData, &said));
            }
            if file.bytes.first().is_some_and(|byte| matches!(byte, b'{' | b'[')) {
                match serde_json::from_slice::<serde_json::Value>(&file.bytes) {
                    Err(error) if error.is_eof() => {
                        return Some(refused(Reason::IncompleteData, "the JSON text ends in the middle"));
                    }
                    Ok(json) if tabular || is_error(&Value::from(&json)) => {
                        return Some(refused(Reason::NotData, "a JSON reply came where data was expected"));
                    }
                    _ => {}
                }
            }
        } else if let Some(text) = argument.value.as_text().filter(|_| tabular) {
            if let Some(said) =
                said_by_bytes(text.as_bytes(), reader.map(|reader| reader.form), subject.problem.source.as_str())
            {
                return Some(refused(Reason::NotData, &said));
            }
        } else if is_error(&argument.value) {
            return Some(refused(Reason::NotData, "the reply is an error message, not data"));
        }
    }
    for view in tables.views.iter().flatten() {
        let width = view.header.len();
        let cut = view.rows.last().is_some_and(|row| row.len() < width);
        let whole = view.rows.iter().rev().skip(1).all(|row| row.len() >= width);
        if !view.ends_whole && cut && whole && width > 1 && view.rows.len() > 1 {
            return Some(refused(Reason::IncompleteData, "the last row ends in the middle"));
        }
    }
    None
}

fn said_by_bytes(bytes: &[u8], form: Option<Form>, source: &str) -> Option<String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0) {
        return Some("the file is empty".into());
    }
    let head: String = bytes
        .iter()
        .skip_while(|byte| byte.is_ascii_whitespace())
        .take(64)
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect();
    let page = head.starts_with("<!doctype html")
        || head.starts_with("<html")
        || head.starts_with("<head")
        || head.starts_with("<body");
    if page && !["html", "bs4", "lxml"].iter().any(|word| source.to_lowercase().contains(word)) {
        return Some("an HTML page came where data was expected".into());
    }
    if form.is_some_and(|form| matches!(form, Form::Dict | Form::Rows | Form::Frame)) {
        if bytes.starts_with(b"\x1f\x8b") && !source.contains("gzip") {
            return Some("the file is compressed with gzip".into());
        }
        if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"\xd0\xcf\x11\xe0") {
            return Some("a workbook or archive came where text was expected".into());
        }
        if bytes.starts_with(b"%PDF") || head.starts_with("<?xml") {
            return Some("another kind of document came where a table was expected".into());
        }
    }
    if form.is_some_and(|form| matches!(form, Form::Sheet | Form::Excel)) && crate::table::book::read(bytes).is_none() {
        return Some("the workbook cannot be read".into());
    }
    None
}

/// Whether a reply is an error: few scalar entries, one of them named as errors are.
fn is_error(value: &Value) -> bool {
    let Some(entries) = value.as_map() else { return false };
    let scalar = |value: &Value| !matches!(value, Value::List(_) | Value::Map(_) | Value::Table(_));
    let named = |key: &str| {
        let key = names::canonical(key).tokens.join(" ");
        ERROR_WORDS.contains(&key.as_str())
    };
    let error =
        entries.iter().any(|(key, value)| named(key) && (value.as_text().is_some() || value.as_map().is_some()));
    error && entries.len() <= 4 && entries.iter().all(|(key, value)| scalar(value) || named(key))
}
