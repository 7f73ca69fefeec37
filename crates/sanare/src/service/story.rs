//! What happened in an incident, for a person: each record in plain words, with what was refused or not offered, and why.

use sanare_core::ledger::Record;
use serde_json::Value as Json;

/// One record in words.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Told {
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The step, or what else was recorded.
    pub step: String,
    /// What is new in it, a line each; empty where the step's name says it all.
    pub lines: Vec<String>,
}

/// The records of an incident in words, in their order.
pub fn story(records: &[Record]) -> Vec<Told> {
    records.iter().map(|record| Told { at: record.at, step: record.step.clone(), lines: words(record) }).collect()
}

fn words(record: &Record) -> Vec<String> {
    let what = Payload(record.json());
    let mut lines = match record.step.as_str() {
        "opened" => what.line("first seen ", "/since"),
        "evident" => withheld(&what),
        "diagnosed" => diagnosis(&what, "/diagnosis", "/advice/action"),
        "proposed" => proposed(&what),
        "judged" => verdict(&what),
        "refused" => [what.line("not done: ", "/would"), verdict(&what)].concat(),
        "checked" => [gates(&what), verdict(&what)].concat(),
        "would_have" => [what.line("would have done: ", "/proposal/action"), gates(&what), verdict(&what)].concat(),
        "gate_failed" => what.said(&["/action", "/gate", "/check", "/reason"]),
        "waiting" | "approved" => what.line("", "/approval"),
        "answered" => what.said(&["/decision", "/by", "/comment"]),
        "prepared" => what.line("", "/receipt"),
        "started" => what.said(&["/action", "/receipt"]),
        "effect" => [what.said(&["/effect", "/receipt"]), what.quoted("/output")].concat(),
        "verified" => what.said(&["/outcome", "/why"]),
        "recovered" => what.line("the world is as ", "/world"),
        "escalating" => what.said(&["/cause", "/why"]),
        "closed" => what.said(&["/outcome", "/why"]),
        "settled" => what.said(&["/as", "/by", "/reason"]),
        "agent_failed" => what.line("", "/failure"),
        "condition" => what.line("now ", "/to"),
        "held" => what.said(&["/held", "/by"]),
        _ => what.said(&["/by", "/why", "/reason"]),
    };
    lines.retain(|line| !line.is_empty());
    lines
}

/// What was not offered. Most services configure few of the actions: those that are not there share a line.
fn withheld(what: &Payload) -> Vec<String> {
    let mut absent = Vec::new();
    let mut lines = what.each("/withheld", |one| {
        let (action, why) = (one.text("/action")?, one.text("/why")?);
        if why.starts_with("no target is configured") {
            absent.push(action);
            return None;
        }
        Some(format!("not offered: {action}: {why}"))
    });
    if !absent.is_empty() {
        lines.push(format!("no target: {}", absent.join(", ")));
    }
    lines
}

/// What was thought to be wrong, how sure, and what was not known.
fn diagnosis(what: &Payload, at: &str, action: &str) -> Vec<String> {
    let of = |rest: &str| what.text(&format!("{at}{rest}"));
    let mut lines = Vec::new();
    lines.extend(of("/summary"));
    lines.extend(of("/probable_cause").map(|cause| format!("probable cause: {cause}")));
    let measured = of("/confidence_measured").map(|value| format!(", measured {value}")).unwrap_or_default();
    let who =
        of("/agent/rule/id").or_else(|| of("/agent/model/model")).map(|who| format!(" {who}")).unwrap_or_default();
    if let (Some(origin), Some(confidence)) = (of("/origin"), of("/confidence")) {
        lines.push(format!("by {origin}{who}, confidence {confidence}{measured}"));
    }
    lines.extend(of("/failure").map(|failure| format!("the model failed: {failure}")));
    lines
        .extend(what.each(&format!("{at}/missing_information"), |one| Some(format!("not known: {}", one.0.as_str()?))));
    lines.extend(what.text(action).map(|action| format!("advice: {action}")));
    lines
}

fn proposed(what: &Payload) -> Vec<String> {
    let versions = match (
        what.text("/proposal/params/rollback/from_version"),
        what.text("/proposal/params/rollback/to_version"),
    ) {
        (Some(from), Some(to)) => format!(", from {from} to {to}"),
        _ => what.text("/proposal/params/restart/component").map(|one| format!(" of {one}")).unwrap_or_default(),
    };
    let mut lines: Vec<String> =
        what.text("/proposal/action").map(|action| format!("{action}{versions}")).into_iter().collect();
    lines.extend(what.text("/proposal/rationale").map(|why| format!("because {why}")));
    lines.extend(what.line("by ", "/proposed_by"));
    lines
}

/// The verdict with every rule that gave it or asked beside it.
fn verdict(what: &Payload) -> Vec<String> {
    let mut lines = what.line("policy: ", "/decision/verdict");
    lines.extend(what.each("/decision/fired", |one| {
        Some(format!("{} by {}: {}", one.text("/verdict")?, one.text("/rule")?, one.text("/because")?))
    }));
    lines
}

fn gates(what: &Payload) -> Vec<String> {
    what.each("/gates", |one| {
        let why = one.text("/reason").map(|why| format!(": {why}")).unwrap_or_default();
        Some(format!("gate {} {} {}{why}", one.text("/gate")?, one.text("/name")?, one.text("/answer")?))
    })
}

/// What a record holds; what an older one lacks is left out.
struct Payload(Json);

impl Payload {
    fn text(&self, path: &str) -> Option<String> {
        match self.0.pointer(path)? {
            Json::Null => None,
            Json::String(text) if text.is_empty() => None,
            Json::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    fn line(&self, before: &str, path: &str) -> Vec<String> {
        self.text(path).map(|text| format!("{before}{text}")).into_iter().collect()
    }

    /// What is there of these, one after the other.
    fn said(&self, paths: &[&str]) -> Vec<String> {
        let parts: Vec<String> = paths.iter().filter_map(|path| self.text(path)).collect();
        vec![parts.join(": ")]
    }

    /// Somebody else's words, marked as such, on one line.
    fn quoted(&self, path: &str) -> Vec<String> {
        let Some(text) = self.text(path) else { return Vec::new() };
        let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect();
        if line.is_empty() { Vec::new() } else { vec![format!("it said: {line:?}")] }
    }

    fn each(&self, path: &str, mut told: impl FnMut(&Self) -> Option<String>) -> Vec<String> {
        let all = self.0.pointer(path).and_then(Json::as_array).cloned().unwrap_or_default();
        all.into_iter().filter_map(|one| told(&Self(one))).collect()
    }
}
