//! What the ledger keeps of the evidence: by section, redacted as one structure, then cut (C35, C37, C42).

use sanare_core::evidence::{Evidence, Frame};
use sanare_core::redact::{Redacted, Redactor};
use sanare_core::settings::Settings;
use sanare_core::value::Value;
use sanare_core::value::json::{Limits, cut, to_json};
use serde_json::{Map, Value as Json, json};

/// How far values are read past their limit, so that a secret at the cut is seen whole.
const MARGIN: usize = 1_024;
/// The error, its causes and other texts that are never left out.
const ALWAYS: usize = 3_000;

/// How much of each section one destination gets: characters of each value, lines of the log. 0 leaves it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amounts {
    /// Of each argument.
    pub arguments: usize,
    /// Of each local or module variable.
    pub locals: usize,
    /// Of each environment variable.
    pub environment: usize,
    /// Newest lines of the program's log.
    pub logs: usize,
    /// Of each of these lines.
    pub log_characters: usize,
}

impl Amounts {
    /// Nothing but the error: what is kept while the settings cannot be read, since they might forbid more.
    pub const LEAST: Amounts = Amounts { arguments: 0, locals: 0, environment: 0, logs: 0, log_characters: 0 };

    /// What a record gets.
    pub fn on_disk(settings: &Settings) -> Self {
        let count = |path: &str| usize::try_from(settings.number(path)).unwrap_or(0);
        Self {
            arguments: count("evidence.disk.arguments"),
            locals: count("evidence.disk.locals"),
            environment: count("evidence.disk.environment"),
            logs: count("evidence.disk.logs"),
            log_characters: count("logs.chars"),
        }
    }

    fn limit_of(self, path: &[String]) -> usize {
        match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["arguments", ..] => self.arguments,
            ["globals", ..] | ["frames", "locals", ..] => self.locals,
            ["environment", ..] => self.environment,
            ["logs", ..] => self.log_characters,
            _ => ALWAYS,
        }
    }
}

/// The record of a failure.
pub fn recorded(evidence: &Evidence, amounts: Amounts) -> Redacted<Json> {
    let failure = &evidence.failure;
    let causes: Vec<Json> = std::iter::successors(failure.cause.as_deref(), |cause| cause.cause.as_deref())
        .take(5)
        .map(|cause| json!({ "class": cause.class, "message": cut(&cause.message, ALWAYS + MARGIN) }))
        .collect();
    let mut record = sections(evidence, amounts);
    record.insert(
        "error".to_owned(),
        json!({ "class": failure.class, "message": cut(&failure.message, ALWAYS + MARGIN) }),
    );
    record.insert("causes".to_owned(), Json::Array(causes));
    redacted(record, amounts)
}

/// The record of a moment that the program itself chose to keep, under this label.
pub fn captured(evidence: &Evidence, amounts: Amounts, about: Map<String, Json>) -> Redacted<Json> {
    let mut record = sections(evidence, amounts);
    record.extend(about);
    redacted(record, amounts)
}

fn redacted(record: Map<String, Json>, amounts: Amounts) -> Redacted<Json> {
    Redactor::standard().json_owned(Json::Object(record)).cut_texts(&|path| amounts.limit_of(path))
}

fn sections(evidence: &Evidence, amounts: Amounts) -> Map<String, Json> {
    let mut record = Map::new();
    record.insert("python".to_owned(), json!(format!("{}.{}", evidence.python.0, evidence.python.1)));
    let frames: Vec<Json> = evidence.failure.frames.iter().map(|frame| frame_json(frame, amounts)).collect();
    record.insert("frames".to_owned(), Json::Array(frames));
    if amounts.arguments > 0 {
        let arguments = evidence.arguments.iter().map(|argument| (&argument.name, &argument.value));
        record.insert("arguments".to_owned(), values(arguments, amounts.arguments));
    }
    if amounts.locals > 0 && !evidence.globals.is_empty() {
        let globals = evidence.globals.iter().map(|(name, value)| (name, value));
        record.insert("globals".to_owned(), values(globals, amounts.locals));
    }
    if amounts.environment > 0 && !evidence.environment.is_empty() {
        let variables = evidence.environment.iter();
        let variables: Map<String, Json> =
            variables.map(|(name, value)| (name.clone(), json!(cut(value, amounts.environment + MARGIN)))).collect();
        record.insert("environment".to_owned(), Json::Object(variables));
    }
    if amounts.logs > 0 && !evidence.logs.is_empty() {
        let newest = evidence.logs.iter().skip(evidence.logs.len().saturating_sub(amounts.logs));
        let lines: Vec<Json> = newest.map(|line| json!(cut(line, amounts.log_characters + MARGIN))).collect();
        record.insert("logs".to_owned(), Json::Array(lines));
    }
    record
}

fn frame_json(frame: &Frame, amounts: Amounts) -> Json {
    let mut shown = Map::new();
    shown.insert("function".to_owned(), json!(frame.function));
    shown.insert("file".to_owned(), json!(frame.file));
    shown.insert("line".to_owned(), json!(frame.line));
    shown.insert("statement".to_owned(), json!(frame.statement));
    if amounts.locals > 0 {
        let locals = frame.locals.iter().map(|(name, value)| (name, value));
        shown.insert("locals".to_owned(), values(locals, amounts.locals));
    }
    Json::Object(shown)
}

fn values<'a>(pairs: impl Iterator<Item = (&'a String, &'a Value)>, characters: usize) -> Json {
    let limits = Limits { characters: characters + MARGIN, ..Limits::default() };
    Json::Object(pairs.map(|(name, value)| (name.clone(), to_json(value, limits))).collect())
}

#[cfg(test)]
mod tests {
    use super::{Amounts, recorded};
    use sanare_core::evidence::{Argument, Evidence};
    use sanare_core::value::Value;
    use serde_json::json;

    const AMOUNTS: Amounts = Amounts { arguments: 10, locals: 10, environment: 10, logs: 2, log_characters: 20 };

    fn evidence() -> Evidence {
        let argument = |name: &str, text: String| Argument { name: name.into(), value: Value::Text(text), file: None };
        Evidence {
            arguments: vec![argument("huge", "x".repeat(5_000)), argument("small", "whole".into())],
            environment: vec![("TZ".into(), "UTC".into())],
            logs: vec!["one".into(), "two".into(), "three".into()],
            ..Evidence::default()
        }
    }

    #[test]
    fn one_huge_value_beside_a_small_one_costs_the_small_one_nothing() {
        let record = recorded(&evidence(), AMOUNTS);
        assert_eq!(record.as_ref()["arguments"]["small"], json!("whole"));
        assert_eq!(record.as_ref()["arguments"]["huge"], json!("xxxxxxxxxx… <5000 characters>"));
        assert_eq!(record.as_ref()["logs"], json!(["two", "three"]));
    }

    #[test]
    fn nothing_leaves_the_section_out() {
        let record = recorded(&evidence(), Amounts { environment: 0, logs: 0, ..AMOUNTS });
        let mut keys: Vec<&String> = record.as_ref().as_object().into_iter().flatten().map(|(key, _)| key).collect();
        keys.sort();
        assert_eq!(keys, ["arguments", "causes", "error", "frames", "python"]);
    }
}
