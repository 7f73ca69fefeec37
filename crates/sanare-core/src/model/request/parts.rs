//! The sections and what is in each, redacted first and cut afterwards.

use serde_json::{Map, Value as Json, json};

use super::{Material, Part};
use crate::evidence::{Argument, Failure, Frame};
use crate::redact::Redactor;
use crate::value::Value;
use crate::value::json::{Limits, to_json};

/// Characters of an error's message, of a text of the engine, of one rejected diff.
const MESSAGE: usize = 2_000;
const DIFF: usize = 4 * 1024;
const CALLED: usize = 8 * 1024;
/// Characters of the contract, which is the owner's own text and not data.
const CONTRACT: usize = 4 * 1024;
/// What is read past a limit, so that a secret is seen whole before it is cut (C42).
const PAST: usize = 1_024;

/// All sections that there are, in order.
pub(super) fn parts(material: &Material<'_>) -> Vec<Part> {
    let failure = &material.evidence.failure;
    let deepest = failure.frames.iter().rev().find(|frame| !frame.statement.is_empty());
    let (major, minor) = material.evidence.python;
    let task = json!({
        "function": material.task.function, "kind": material.task.kind, "signature": material.task.signature,
        "file": material.task.file, "python": format!("{major}.{minor}"),
    });
    let called: Map<String, Json> =
        material.called.iter().take(8).map(|(name, text)| (name.clone(), json!(head(text, CALLED)))).collect();
    let versions: Map<String, Json> =
        material.versions.iter().take(30).map(|(name, version)| (name.clone(), json!(version))).collect();
    let mut parts = Vec::new();
    let mut add = |name: &'static str, stays: bool, body: Json| {
        if !is_empty(&body) {
            parts.push(Part { name, body: Redactor::standard().json_owned(body).into_inner(), stays });
        }
    };
    add("task", true, task);
    add("about", false, json!(head(material.about, 1_000)));
    add("details_of_the_request", false, details(failure, material.amounts.arguments));
    add("error", true, error(failure, 3));
    add("statement", true, json!(deepest.map(|frame| head(&frame.statement, MESSAGE)).unwrap_or_default()));
    add("traceback", false, traceback(&failure.frames));
    add("source", true, json!(material.source));
    add("called_functions", false, Json::Object(called));
    add("imports_and_names", false, json!(material.imports.iter().take(60).map(|l| head(l, 300)).collect::<Vec<_>>()));
    add("class_header", false, json!(head(&material.class_header, 600)));
    add("shape_before", false, shape(&material.expected));
    add("shape_now", false, shape(&material.seen));
    add("offline_engine", false, refusals(material));
    add("contract", false, named("contract", &material.evidence.contract, CONTRACT));
    add("arguments", false, arguments(&material.evidence.arguments, material.amounts.arguments));
    add("locals", false, locals(&failure.frames, material.amounts.locals));
    add("module_variables", false, pairs(&material.evidence.globals, material.amounts.locals));
    add("library_versions", false, Json::Object(versions));
    add("logs", false, logs(&material.evidence.logs, material.amounts.logs));
    add("environment", false, environment(&material.evidence.environment, material.amounts.environment));
    add("earlier_attempts", false, attempts(material));
    parts
}

/// Members of the closed list that this request cannot have.
pub(super) fn absent(material: &Material<'_>) -> Vec<&'static str> {
    let failure = &material.evidence.failure;
    let mut absent = vec!["other files of the project"];
    let mut missing = |name, gone| {
        if gone {
            absent.push(name);
        }
    };
    missing("logs", material.amounts.logs == 0 || material.evidence.logs.is_empty());
    missing("environment", material.amounts.environment == 0 || material.evidence.environment.is_empty());
    missing("shape of calls that worked", material.expected.is_null());
    missing("arguments", material.amounts.arguments == 0 || material.evidence.arguments.is_empty());
    missing("local variables", material.amounts.locals == 0 || failure.frames.iter().all(|f| f.locals.is_empty()));
    missing("report of the offline engine", material.declined.is_empty());
    absent
}

/// The same with shorter texts and fewer items.
pub(super) fn shorter(body: &Json, characters: usize, items: usize) -> Json {
    match body {
        Json::String(text) => json!(Redactor::standard().text_cut(text, characters).into_inner()),
        Json::Array(list) => {
            let mut kept: Vec<Json> = list.iter().take(items).map(|item| shorter(item, characters, items)).collect();
            if list.len() > items {
                kept.push(json!(format!("({} more)", list.len() - items)));
            }
            Json::Array(kept)
        }
        Json::Object(map) => {
            let kept = map.iter().take(items * 4);
            Json::Object(kept.map(|(key, item)| (key.clone(), shorter(item, characters, items))).collect())
        }
        other => other.clone(),
    }
}

fn is_empty(body: &Json) -> bool {
    match body {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(list) => list.is_empty(),
        Json::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// The first characters of a raw text. Redacted as it is read: what a cut would halve is replaced before.
fn head(text: &str, limit: usize) -> String {
    let wide: String = text.chars().take(limit + PAST).collect();
    Redactor::standard().text_cut(&wide, limit).into_inner()
}

fn error(failure: &Failure, depth: usize) -> Json {
    let mut map = Map::new();
    map.insert("class".to_owned(), json!(failure.class));
    map.insert("message".to_owned(), json!(head(&failure.message, MESSAGE)));
    let length = failure.message.chars().count();
    if length > MESSAGE {
        map.insert("message_characters".to_owned(), json!(length));
    }
    if let Some(cause) = failure.cause.as_deref().filter(|_| depth > 0) {
        map.insert("cause".to_owned(), error(cause, depth - 1));
    }
    Json::Object(map)
}

/// What a program that asked for help said besides its reason (C46).
fn details(failure: &Failure, amount: usize) -> Json {
    match failure.args.as_slice() {
        [_, details] if failure.class.rsplit('.').next() == Some("HealRequested") => named("details", details, amount),
        _ => Json::Null,
    }
}

fn traceback(frames: &[Frame]) -> Json {
    let line =
        |frame: &Frame| format!("{}:{} {}: {}", frame.file, frame.line, frame.function, head(&frame.statement, 200));
    let mut lines: Vec<String> = frames.iter().take(32).map(line).collect();
    if frames.len() > 64 {
        lines.push(format!("({} more frames)", frames.len() - 64));
    }
    lines.extend(frames.iter().skip(32.max(frames.len().saturating_sub(32))).map(line));
    json!(lines)
}

fn shape(shape: &Json) -> Json {
    shorter(shape, 300, 40)
}

fn refusals(material: &Material<'_>) -> Json {
    let reports = material.declined.iter().map(|declined| {
        json!({ "reason": declined.reason, "summary": head(&declined.summary, 600),
                "fields": shorter(&declined.report["fields"], 300, 8) })
    });
    Json::Array(reports.collect())
}

fn arguments(arguments: &[Argument], amount: usize) -> Json {
    if amount == 0 {
        return Json::Null;
    }
    let entries = arguments.iter().take(40).map(|argument| {
        let value = named(&argument.name, &argument.value, amount);
        let body = match &argument.file {
            None => value,
            Some(file) => {
                let start = file.bytes.get(..file.bytes.len().min(amount * 4 + PAST)).unwrap_or_default();
                let text = String::from_utf8_lossy(start);
                json!({ "value": value, "file": { "name": file.name, "bytes": file.bytes.len(),
                        "complete": file.complete, "start": head(&text, amount) } })
            }
        };
        (argument.name.clone(), body)
    });
    Json::Object(entries.collect())
}

fn locals(frames: &[Frame], amount: usize) -> Json {
    if amount == 0 {
        return Json::Null;
    }
    let mut entries = Map::new();
    // Inner frames last in the traceback; a function that stands there often is told apart by its place.
    for (place, frame) in frames.iter().enumerate().rev().take(8) {
        if frame.locals.is_empty() {
            continue;
        }
        let values = frame.locals.iter().take(60).map(|(name, value)| (name.clone(), named(name, value, amount)));
        let key = match entries.contains_key(&frame.function) {
            true => format!("{} (frame {place})", frame.function),
            false => frame.function.clone(),
        };
        entries.insert(key, Json::Object(values.collect()));
    }
    Json::Object(entries)
}

fn pairs(pairs: &[(String, Value)], amount: usize) -> Json {
    if amount == 0 {
        return Json::Null;
    }
    Json::Object(pairs.iter().take(40).map(|(name, value)| (name.clone(), named(name, value, amount))).collect())
}

/// The newest lines.
fn logs(lines: &[String], amount: usize) -> Json {
    let newest = lines.get(lines.len().saturating_sub(amount)..).unwrap_or_default();
    json!(newest.iter().map(|line| head(line, 300)).collect::<Vec<_>>())
}

fn environment(variables: &[(String, String)], amount: usize) -> Json {
    if amount == 0 {
        return Json::Null;
    }
    let named = |(name, value): &(String, String)| (name.clone(), named(name, &Value::Text(value.clone()), amount));
    Json::Object(variables.iter().take(50).map(named).collect())
}

/// A value of at most so many characters: redacted under its name, then cut.
fn named(name: &str, value: &Value, amount: usize) -> Json {
    if amount == 0 || *value == Value::Null {
        return Json::Null;
    }
    let limits = Limits { characters: amount + PAST, items: 64, depth: 8 };
    let wide = json!({ name: to_json(value, limits) });
    let redacted = Redactor::standard().json_owned(wide).into_inner();
    let Json::Object(mut map) = redacted else { return Json::Null };
    let body = map.remove(name).unwrap_or(Json::Null);
    fit(&body, amount)
}

/// As much of a structure as fits into so many characters.
fn fit(body: &Json, amount: usize) -> Json {
    if body.to_string().chars().count() <= amount + 2 {
        return body.clone();
    }
    match body {
        Json::String(text) => {
            let kept = Redactor::standard().text_cut(text, amount).into_inner();
            json!(format!("{kept} ({} characters in all)", text.chars().count()))
        }
        Json::Array(list) => {
            let mut left = amount;
            let mut kept = Vec::new();
            for item in list {
                let item = fit(item, left.min(amount / 2));
                let size = item.to_string().len() + 1;
                if size > left {
                    break;
                }
                left -= size;
                kept.push(item);
            }
            let gone = list.len() - kept.len();
            if gone > 0 {
                kept.push(json!(format!("({gone} more items)")));
            }
            Json::Array(kept)
        }
        Json::Object(map) => {
            let mut left = amount;
            let mut kept = Map::new();
            for (key, item) in map {
                let item = fit(item, left.min(amount / 2));
                let size = item.to_string().len() + key.len() + 4;
                if size > left {
                    break;
                }
                left -= size;
                kept.insert(key.clone(), item);
            }
            let gone = map.len() - kept.len();
            if gone > 0 {
                kept.insert("(more)".to_owned(), json!(format!("{gone} more entries")));
            }
            Json::Object(kept)
        }
        other => other.clone(),
    }
}

fn attempts(material: &Material<'_>) -> Json {
    let list = material.attempts.iter().map(|attempt| {
        json!({ "attempt": attempt.number, "rejected_by": attempt.check, "because": head(&attempt.reason, 1_000),
                "diff": head(&attempt.diff, DIFF) })
    });
    Json::Array(list.collect())
}
