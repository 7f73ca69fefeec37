//! Keys: what a key of a mapping says about its value and about the values beside it.

use super::Known;
use crate::redact::entry::{is_name_key, is_value_key};
use crate::redact::name::{Class, Name, lexicon};
use crate::redact::personal;
use crate::redact::scan::Scanner;
use crate::redact::text::text_of;
use serde_json::{Map, Value};

const COLUMNS: &[&str] = &[
    "columns",
    "header",
    "headers",
    "fields",
    "names",
    "cols",
    "schema",
    "keys",
    "column_names",
    "fieldnames",
    "description",
];
const ROWS: &[&str] = &[
    "data",
    "rows",
    "values",
    "records",
    "body",
    "cells",
    "items",
    "result",
    "results",
    "sample",
    "head",
    "row",
    "parameters",
    "params",
    "args",
    "binds",
    "bind_params",
    "vars",
];
const STATEMENTS: &[&str] = &["sql", "query", "statement", "stmt", "operation"];

/// What a key says.
#[derive(Clone, Copy)]
pub(super) struct Key {
    /// The secret that it is the name of.
    pub name: Option<Name>,
    /// Its value is a name.
    pub names: bool,
    /// Its value is what the name beside it stands for.
    pub values: bool,
    /// Its value names columns.
    pub columns: bool,
    /// Its value holds rows, or the cells of one.
    pub rows: bool,
    /// Its value is a statement.
    pub statement: bool,
    /// It may say what number its value is.
    pub label: bool,
    /// Nothing in it must go.
    pub clean: bool,
}

impl Key {
    /// What a key says, its text apart.
    pub fn new(key: &str) -> Self {
        let lower = key.to_lowercase();
        let one_of = |list: &[&str]| list.contains(&lower.as_str());
        Self {
            name: lexicon().name(key),
            names: is_name_key(key),
            values: is_value_key(key),
            columns: one_of(COLUMNS),
            rows: one_of(ROWS),
            statement: one_of(STATEMENTS),
            label: false,
            clean: true,
        }
    }

    /// What a key says, its text too.
    pub fn of_text(key: &str, scanner: Scanner<'_>) -> Self {
        Self {
            label: scanner.personal && personal::may_label(key),
            clean: text_of(scanner, key, &mut Vec::new()).is_none(),
            ..Self::new(key)
        }
    }
}

/// The secret's name in `{"name": NAME, "value": …}`.
pub(super) fn name_beside(map: &Map<String, Value>, keys: &[Key]) -> Option<Name> {
    if map.len() > 32 || !keys.iter().any(|key| key.values) {
        return None;
    }
    map.values().zip(keys).filter(|(_, key)| key.names).find_map(|(value, _)| {
        let text = value.as_str().or_else(|| value.as_array()?.last()?.as_str())?;
        lexicon().name(text.rsplit('/').next()?)
    })
}

/// What is known about the value of a key.
pub(super) fn child(info: Key, key: &str, known: Option<Known>, beside: Option<Name>) -> Option<Known> {
    if let Some(name) = info.name {
        // The nearer name counts.
        return Some(Known { name, direct: true });
    }
    if let Some(name) = beside
        && info.values
    {
        return Some(Known { name, direct: true });
    }
    let known = known?;
    if known.name.class == Class::Hint && !(info.values || key.bytes().all(|c| c.is_ascii_digit())) {
        return None;
    }
    let special = known.name.class >= Class::Authorization;
    let name = if special { Name { class: Class::Named, ..known.name } } else { known.name };
    let number = !key.is_empty() && key.bytes().all(|c| c.is_ascii_digit());
    Some(Known { name, direct: known.direct && (number || info.values) })
}
