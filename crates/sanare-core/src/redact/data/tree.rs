//! Trees of data: copied to a depth, dropped at any depth, changed text by text.

use super::DEEPEST;
use crate::redact::place::placeholder;
use serde_json::{Map, Value};

/// A copy of data that is no deeper than is followed.
pub(in crate::redact) fn copy(value: &Value, depth: usize) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if depth >= DEEPEST => Value::String(placeholder("too-deep")),
        Value::Array(items) => Value::Array(items.iter().map(|item| copy(item, depth + 1)).collect()),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), copy(value, depth + 1))).collect(),
        other => other.clone(),
    }
}

/// Drops data of any depth without going down it.
pub(super) fn dismantle(value: Value) {
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            Value::Array(items) => rest.extend(items),
            Value::Object(map) => rest.extend(map.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

pub(super) fn each_text(value: &mut Value, change: &dyn Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(changed) = change(text) {
                *text = changed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(map) => {
            if map.keys().any(|key| change(key).is_some()) {
                let old = std::mem::take(map);
                for (key, value) in old {
                    let key = change(&key).unwrap_or(key);
                    let key = free_key(map, key);
                    map.insert(key, value);
                }
            }
            map.values_mut().for_each(|item| each_text(item, change));
        }
        _ => {}
    }
}

/// A key that is not taken: two secrets as keys must not become one.
pub(super) fn free_key(map: &Map<String, Value>, key: String) -> String {
    if !map.contains_key(&key) {
        return key;
    }
    (2..).map(|n| format!("{key}#{n}")).find(|key| !map.contains_key(key)).unwrap_or(key)
}
