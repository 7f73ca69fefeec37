//! One table a type, with the answer to each value: the Python half of the tests puts the same tables in (S1).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use sanare_core::id::Id;
use sanare_core::service::policy::Case;
use sanare_core::service::{Draft, Moment, Observation, Source, Stamp, Trust};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

/// A reading that is legal, changed.
#[derive(Deserialize)]
struct Reading {
    name: String,
    /// The field that is refused, or the one above it; nothing where it is taken.
    field: Option<String>,
    change: Map<String, Json>,
}

#[derive(Deserialize)]
struct MadeUp {
    name: String,
    legal: bool,
    case: Json,
}

fn rows<T: for<'de> Deserialize<'de>>(text: &str) -> Vec<T> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn reading(row: &Reading) -> Json {
    let mut reading = json!({ "application": "fraud", "component": "api", "signal": "p99", "kind": "metric", "value": 1.5,
        "unit": "ms", "event_time": "2026-01-01T00:00:00Z", "source_id": row.name, "labels": { "host": "a" } });
    reading.as_object_mut().unwrap().extend(row.change.clone());
    reading
}

/// The field that is refused; nothing where it is taken.
fn answer(reading: &Json) -> Option<String> {
    let stamp = Stamp {
        id: Id::new("obs", 1, 2),
        arrival: Moment::parse("2026-11-30T12:00:00Z").unwrap(),
        source: Source::parse("command").unwrap(),
        trust: Trust::Own,
    };
    let read = Draft::from_json(reading).and_then(|draft| Observation::accept(draft, stamp));
    read.err().map(|invalid| invalid.field)
}

#[test]
fn readings() {
    let all: Vec<Reading> = rows(include_str!("readings.jsonl"));
    let mut wrong = Vec::new();
    for row in &all {
        let got = answer(&reading(row));
        let same = match (&row.field, &got) {
            (None, None) => true,
            (Some(field), Some(got)) => got == field || got.starts_with(&format!("{field}.")),
            _ => false,
        };
        if !same {
            wrong.push(format!("{}: expected {:?}, got {got:?}", row.name, row.field));
        }
    }
    assert!(all.len() > 150 && wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is needed and absent, and what is no reading at all.
#[test]
fn absent() {
    for key in ["application", "signal", "value"] {
        let mut reading = reading(&Reading { name: "a".to_owned(), field: None, change: Map::new() });
        reading.as_object_mut().unwrap().remove(key);
        assert_eq!(answer(&reading).as_deref(), Some(key));
    }
    for odd in [json!(null), json!([]), json!("fraud"), json!(1)] {
        assert_eq!(answer(&odd).as_deref(), Some("observation"));
    }
}

#[test]
fn made_up_cases() {
    let all: Vec<MadeUp> = rows(include_str!("cases.jsonl"));
    let read = |row: &MadeUp| serde_json::from_value::<Case>(row.case.clone());
    let wrong: Vec<&str> =
        all.iter().filter(|row| read(row).is_ok() != row.legal).map(|row| row.name.as_str()).collect();
    assert!(all.len() > 100 && wrong.is_empty(), "{wrong:?}");
}
