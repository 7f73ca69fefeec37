//! The shape of nested data: what keys a mapping has, what the members of a list share, what the leaves look like.

use std::collections::BTreeMap;

use sanare_core::value::Value;

use crate::problem::Argument;
use crate::profile::Profile;
use crate::shape::ObjectShape;

/// How deep a shape is followed; deeper data counts as a leaf of no known type.
const DEPTH: usize = 24;

/// The shape of one value. Members of a list are merged into one shape; a key that some member lacks, or holds as
/// null, is marked as not always there.
pub fn of(value: &Value) -> ObjectShape {
    of_many(&[value], DEPTH)
}

/// The shape that several values share.
pub fn of_all(values: &[&Value]) -> ObjectShape {
    of_many(values, DEPTH)
}

/// The shape of an argument that is nested data, or text or a file of JSON; nothing for others.
pub fn of_argument(argument: &Argument) -> Option<ObjectShape> {
    match (&argument.value, &argument.file) {
        (_, Some(file)) if file.complete => of_text(std::str::from_utf8(&file.bytes).ok()?),
        (_, Some(_)) => None,
        (value @ (Value::Map(_) | Value::List(_)), None) => Some(of(value)),
        (Value::Text(text), None) if text.trim_start().starts_with(['{', '[']) => of_text(text),
        _ => None,
    }
}

/// The shape of a file's content, when it is JSON or one JSON value on each line.
pub fn of_text(text: &str) -> Option<ObjectShape> {
    if !text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']) {
        return None;
    }
    read_json(text).map(|value| of(&value)).or_else(|| read_lines(text).map(|lines| of(&Value::List(lines))))
}

/// One JSON document, a byte order mark aside.
pub fn read_json(text: &str) -> Option<Value> {
    let json: serde_json::Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    Some(Value::from(&json))
}

/// One JSON value on each line that is not blank, at least one.
pub fn read_lines(text: &str) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    for line in text.trim_start_matches('\u{feff}').lines() {
        if !line.trim().is_empty() {
            values.push(read_json(line)?);
        }
    }
    (!values.is_empty()).then_some(values)
}

impl ObjectShape {
    /// The shape behind a key of a mapping, and whether it was always there.
    pub fn key(&self, name: &str) -> Option<(&ObjectShape, bool)> {
        match self {
            Self::Map { keys } => keys.iter().find(|(key, ..)| key == name).map(|(_, shape, always)| (shape, *always)),
            _ => None,
        }
    }

    /// The shape of a list's members.
    pub fn member(&self) -> Option<&ObjectShape> {
        match self {
            Self::List { member } => member.as_deref(),
            _ => None,
        }
    }

    /// The profile of a leaf.
    pub fn profile(&self) -> Option<&Profile> {
        match self {
            Self::Leaf { profile } => Some(profile),
            _ => None,
        }
    }

    /// The names of a mapping's keys, in order.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Map { keys } => keys.iter().map(|(key, ..)| key.as_str()).collect(),
            _ => Vec::new(),
        }
    }
}

fn of_many(values: &[&Value], depth: usize) -> ObjectShape {
    let maps: Vec<&[(String, Value)]> = values.iter().filter_map(|value| value.as_map()).collect();
    let lists: Vec<&[Value]> = values.iter().filter_map(|value| value.as_list()).collect();
    let leaves = values.len() - maps.len() - lists.len();
    let nulls = values.iter().filter(|value| matches!(value, Value::Null)).count();
    if depth > 0 && !maps.is_empty() && lists.is_empty() && leaves == nulls {
        return of_maps(&maps, depth);
    }
    if depth > 0 && !lists.is_empty() && maps.is_empty() && leaves == nulls {
        let members: Vec<&Value> = lists.iter().flat_map(|list| list.iter()).filter(|item| !is_cut(item)).collect();
        let member = (!members.is_empty()).then(|| Box::new(of_many(&members, depth - 1)));
        return ObjectShape::List { member };
    }
    if maps.is_empty() && lists.is_empty() {
        return ObjectShape::Leaf { profile: Profile::of_values(values.iter().copied()) };
    }
    ObjectShape::Leaf { profile: Profile { type_name: "mixed".into(), ..Profile::default() } }
}

fn of_maps(maps: &[&[(String, Value)]], depth: usize) -> ObjectShape {
    let mut order: Vec<&str> = Vec::new();
    let mut found: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for map in maps {
        for (key, value) in *map {
            let slot = found.entry(key).or_default();
            if slot.is_empty() {
                order.push(key);
            }
            slot.push(value);
        }
    }
    let keys = order.into_iter().map(|key| {
        let values = found.remove(key).unwrap_or_default();
        let always = values.len() == maps.len() && !values.iter().any(|value| matches!(value, Value::Null));
        (key.to_owned(), of_many(&values, depth - 1), always)
    });
    ObjectShape::Map { keys: keys.collect() }
}

fn is_cut(value: &Value) -> bool {
    matches!(value, Value::Cut(_))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{of_text, read_lines};
    use crate::shape::ObjectShape;

    fn spoken(shape: &ObjectShape) -> String {
        match shape {
            ObjectShape::Map { keys } => {
                let keys = keys
                    .iter()
                    .map(|(key, shape, always)| format!("{key}{}: {}", if *always { "" } else { "?" }, spoken(shape)));
                format!("{{{}}}", keys.collect::<Vec<_>>().join(", "))
            }
            ObjectShape::List { member } => format!("[{}]", member.as_deref().map(spoken).unwrap_or_default()),
            ObjectShape::Leaf { profile } => profile.type_name.clone(),
        }
    }

    #[test]
    fn members_are_merged() {
        let check = |text: &str, expected: &str| assert_eq!(spoken(&of_text(text).unwrap()), expected, "{text}");
        check(r#"{"a": 1, "b": [{"x": "t"}, {"x": "u", "y": 1.5}]}"#, "{a: int, b: [{x: str, y?: float}]}");
        check(r#"[{"user": {"login": "m"}}, {"user": null}]"#, "[{user?: {login: str}}]");
        check("[]", "[]");
        check("{\"a\": 1}\n{\"a\": 2}\n", "[{a: int}]");
    }

    #[test]
    fn a_broken_line_is_no_lines() {
        assert_eq!(read_lines("{\"a\": 1}\n{\"a\": "), None);
        assert_eq!(read_lines("\n\n"), None);
    }
}
