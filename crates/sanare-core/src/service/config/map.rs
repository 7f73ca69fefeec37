//! `[[map]]`: what an outside alert means in our words, by its labels (S22).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;

use super::reader::Table;
use super::rule::kind;
use crate::service::kind::IncidentKind;
use crate::service::name::{Application, Component, Labels, Signal};
use crate::service::word::Severity;

/// One entry; the first that matches wins.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AlertMap {
    /// Labels that an alert must carry, each with one of these values.
    pub labels: BTreeMap<String, Vec<String>>,
    /// The service.
    pub application: Application,
    /// The part of it.
    pub component: Component,
    /// What is wrong.
    pub kind: IncidentKind,
    /// How bad it is; the kind's own severity if absent.
    pub severity: Option<Severity>,
    /// The signal that it is a reading of.
    pub signal: Option<Signal>,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

impl AlertMap {
    /// Whether an alert is meant.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.labels
            .iter()
            .all(|(key, values)| labels.get(key).is_some_and(|found| values.iter().any(|value| value == found)))
    }
}

/// The entry for an alert.
pub fn find<'m>(maps: &'m [AlertMap], labels: &Labels) -> Option<&'m AlertMap> {
    maps.iter().find(|map| map.matches(labels))
}

pub(super) fn map(mut table: Table<'_>) -> Option<AlertMap> {
    let json = table.json("match");
    let labels = json.as_ref().and_then(matchers);
    if json.is_some() && labels.is_none() {
        table.trouble(
            "match",
            "this value is not allowed here",
            "{ label = \"value\" } or { label = [\"one\", \"other\"] }",
        );
    }
    let application = table.name::<Application>("application");
    let component = table.name::<Component>("component").unwrap_or_default();
    let kind = table.read("kind", kind);
    let severity = table.read("severity", Severity::parse);
    let signal = table.name::<Signal>("signal");
    let labels = table.needed("match", labels);
    let application = table.needed("application", application);
    let kind = table.needed("kind", kind);
    let line = table.line();
    table.finish();
    Some(AlertMap { labels: labels?, application: application?, component, kind: kind?, severity, signal, line })
}

fn matchers(json: &Json) -> Option<BTreeMap<String, Vec<String>>> {
    let mut labels = BTreeMap::new();
    for (key, value) in json.as_object().filter(|map| !map.is_empty())? {
        let values: Option<Vec<String>> = match value {
            Json::String(text) => Some(vec![text.clone()]),
            Json::Array(items) if !items.is_empty() => {
                items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
            }
            _ => None,
        };
        let values = values?;
        // What no label can hold would match nothing, in silence.
        for value in &values {
            Labels::new(BTreeMap::from([(key.clone(), value.clone())])).ok()?;
        }
        labels.insert(key.clone(), values);
    }
    Some(labels)
}
