//! `[[maintenance]]`: windows in which nothing is begun and nobody is told (S50). `[[inhibit]]`: what explains what (S49).

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value as Json;

use super::reader::Table;
use super::rule::kind;
use crate::service::invalid::Invalid;
use crate::service::kind::IncidentKind;
use crate::service::silence::{Matcher, Test};

/// A window that comes every week; detection reads times and zone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MaintenanceSettings {
    /// Incidents that are meant: all have to hold. None, if everything is meant.
    pub matchers: Vec<Matcher>,
    /// Days on which it begins, such as `Sat`.
    pub days: Vec<String>,
    /// Time of day at which it begins, such as `22:00`.
    pub from: String,
    /// Time of day at which it ends, perhaps on the next day.
    pub to: String,
    /// Name of the IANA list, such as `Europe/Brussels`.
    pub zone: String,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

/// A cause and the symptoms that it explains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InhibitSettings {
    /// The cause.
    pub cause: IncidentKind,
    /// The symptoms.
    pub symptoms: Vec<IncidentKind>,
    /// Whether symptoms of what depends on it are meant, in place of those of its own component.
    pub dependents: bool,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

pub(super) fn maintenance(mut table: Table<'_>) -> Option<MaintenanceSettings> {
    let json = table.json("match");
    let all = table.flag("all").unwrap_or(false);
    let matchers = json.as_ref().map(matchers).unwrap_or_else(|| Ok(Vec::new()));
    if let Err(invalid) = &matchers {
        table.invalid("match", invalid);
    }
    if json.is_some() == all {
        table.trouble("match", "says what is meant, or `all` does", "write one of `match = { … }` and `all = true`");
    }
    let days = table.texts("days", 7);
    let [from, to] = ["from", "to"].map(|key| {
        let text = table.text(key, 5);
        table.needed(key, text)
    });
    let zone = table.text("zone", 60);
    let (days, zone) = (table.needed("days", days), table.needed("zone", zone));
    let line = table.line();
    table.finish();
    Some(MaintenanceSettings { matchers: matchers.ok()?, days: days?, from: from?, to: to?, zone: zone?, line })
}

pub(super) fn inhibit(mut table: Table<'_>) -> Option<InhibitSettings> {
    let cause = table.read("cause", kind);
    let symptoms = table.reads("symptoms", kind);
    let dependents = table.flag("dependents").unwrap_or(false);
    let (cause, symptoms) = (table.needed("cause", cause), table.needed("symptoms", symptoms));
    if symptoms.as_ref().is_some_and(Vec::is_empty) {
        table.trouble("symptoms", "are none", "");
    }
    let line = table.line();
    table.finish();
    Some(InhibitSettings { cause: cause?, symptoms: symptoms?, dependents, line })
}

/// `{ application = "fraud", kind = ["latency_high", "error_rate_high"], component = { matches = "rank.*" }, label = { … } }`.
fn matchers(json: &Json) -> Result<Vec<Matcher>, Invalid> {
    let Some(map) = json.as_object().filter(|map| !map.is_empty()) else {
        return Err(Invalid::new("match", "is a table of what is meant, such as { application = \"fraud\" }"));
    };
    let mut all = Vec::new();
    for (name, value) in map {
        match (name.as_str(), value.as_object()) {
            ("label", Some(labels)) => {
                for (key, value) in labels {
                    all.push(Matcher::new(&format!("label.{key}"), test(value)?)?);
                }
            }
            _ => all.push(Matcher::new(name, test(value)?)?),
        }
    }
    Ok(all)
}

fn test(value: &Json) -> Result<Test, Invalid> {
    let wrong = || Invalid::new("match", "compares with \"a text\", [\"one\", \"other\"] or { matches = \"pattern\" }");
    match value {
        Json::String(text) => Ok(Test::Equals(text.clone())),
        Json::Array(items) => {
            let texts: Option<BTreeSet<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
            texts.map(Test::OneOf).ok_or_else(wrong)
        }
        Json::Object(map) if map.len() == 1 => {
            map.get("matches").and_then(Json::as_str).map(|text| Test::Matches(text.to_owned())).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}
