//! Values as bounded JSON, for the record: what is shown is cut, what was cut says so.

use serde_json::{Map, Value as Json, json};

use super::Value;

/// How much of a value is kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Characters of one text.
    pub characters: usize,
    /// Items of one list or mapping.
    pub items: usize,
    /// Levels of nesting.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { characters: 3_000, items: 64, depth: 8 }
    }
}

/// The value as JSON within the limits.
pub fn to_json(value: &Value, limits: Limits) -> Json {
    if limits.depth == 0 && !matches!(value, Value::Cut(_)) {
        return json!(format!("<{} not followed>", value.type_name()));
    }
    let inner = Limits { depth: limits.depth.saturating_sub(1), ..limits };
    match value {
        Value::Null => Json::Null,
        Value::Bool(flag) => json!(flag),
        Value::Int(number) => json!(number),
        Value::Float(number) if number.is_finite() => json!(number),
        Value::Float(number) => json!(format!("<float {number}>")),
        Value::Text(text) => json!(cut(text, limits.characters)),
        Value::Bytes(bytes) => {
            json!(format!("<{} bytes: {}>", bytes.len(), cut(&String::from_utf8_lossy(bytes), limits.characters)))
        }
        Value::List(items) => {
            let (items, all) = match items.split_last() {
                Some((Value::Cut(all), read)) => (read, Some(*all)),
                _ => (items.as_slice(), None),
            };
            let mut kept: Vec<Json> = items.iter().take(limits.items).map(|item| to_json(item, inner)).collect();
            if all.is_some() || items.len() > limits.items {
                kept.push(json!(format!("<{} items in all>", all.unwrap_or(items.len()))));
            }
            Json::Array(kept)
        }
        Value::Map(entries) => {
            let (entries, all) = match entries.split_last() {
                Some(((name, Value::Cut(all)), read)) if name == "..." => (read, Some(*all)),
                _ => (entries.as_slice(), None),
            };
            let mut kept: Map<String, Json> =
                entries.iter().take(limits.items).map(|(key, value)| (key.clone(), to_json(value, inner))).collect();
            if all.is_some() || entries.len() > limits.items {
                let all = all.unwrap_or(entries.len());
                kept.insert("<more>".to_owned(), json!(format!("<{all} entries in all>")));
            }
            Json::Object(kept)
        }
        Value::Table(table) => {
            let columns: Vec<Json> = table
                .columns
                .iter()
                .take(200)
                .map(|column| {
                    json!({ "name": column.name, "dtype": column.dtype,
                    "cells": column.cells.iter().take(3).map(|cell| to_json(cell, inner)).collect::<Vec<_>>() })
                })
                .collect();
            json!({ "rows": table.rows, "columns": columns })
        }
        Value::Opaque(name) => json!(format!("<{name}>")),
        Value::Cut(count) => json!(format!("<{count} more>")),
    }
}

/// The first characters of a text, and how many there are in all if it was cut. A text that says so already keeps its
/// whole length.
pub fn cut(text: &str, limit: usize) -> String {
    let (body, whole) = uncut(text);
    match body.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((at, _)) => shortened(body.get(..at).unwrap_or_default(), whole.unwrap_or_else(|| body.chars().count())),
    }
}

/// The head of a text of so many characters.
pub fn shortened(head: &str, characters: usize) -> String {
    format!("{head}… <{characters} characters>")
}

/// A text without the mark that [`shortened`] left, and the length that the mark names.
pub fn uncut(text: &str) -> (&str, Option<usize>) {
    let mark = || {
        let rest = text.strip_suffix(" characters>")?;
        let (body, number) = rest.rsplit_once("… <")?;
        Some((body, number.parse::<usize>().ok()?))
    };
    mark().map_or((text, None), |(body, whole)| (body, Some(whole)))
}

#[cfg(test)]
mod tests {
    use super::{Limits, cut, shortened, to_json};
    use crate::value::Value;

    #[test]
    fn what_is_cut_says_so() {
        let limits = Limits { characters: 3, items: 2, depth: 3 };
        let value = Value::List(vec![Value::Text("abcdef".into()), Value::Int(1), Value::Int(2)]);
        assert_eq!(to_json(&value, limits).to_string(), r#"["abc… <6 characters>",1,"<3 items in all>"]"#);
    }

    #[test]
    fn a_text_that_was_cut_before_keeps_its_whole_length() {
        assert_eq!(cut(&shortened("abcdef", 50_000_000), 3), "abc… <50000000 characters>");
        assert_eq!(cut("abc… <six characters>", 5), "abc… … <21 characters>");
    }
}
