//! Data: values that are secret by their key, by the name beside them, by their column, or by their text.

use super::entry::{is_name_key, is_value_key};
use super::name::{Class, Name, lexicon};
use super::place::{Finding, merge, placeholder, placeholder_end, replace};
use super::quote::{close, quote_at};
use super::rule::border;
use super::scan::Scanner;
use super::worth::{self, Place, is_secret};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// How deep data is followed; what is deeper is replaced.
const DEEPEST: usize = 200;

/// What is known about a value before it is looked at.
#[derive(Clone, Copy)]
struct Known {
    name: Name,
    /// It is the value itself, not something inside it.
    direct: bool,
}

/// Redacted data.
pub(super) fn redact(scanner: Scanner<'_>, value: &Value) -> Value {
    let mut walk = Walk { scanner, secrets: Vec::new(), keys: HashMap::new() };
    let mut out = walk.value(value, None, 0);
    walk.again(&mut out);
    out
}

/// Redacted text, or nothing if there is nothing to redact in it. What was found is added to `secrets`.
pub(super) fn text_of(scanner: Scanner<'_>, text: &str, secrets: &mut Vec<(String, String)>) -> Option<String> {
    let mut changed: Option<String> = None;
    for _ in 0..6 {
        let current = changed.as_deref().unwrap_or(text);
        let findings = scanner.find(current);
        if findings.is_empty() {
            return changed;
        }
        let findings = merge(current, findings);
        remember(current, &findings, secrets);
        let next = replace(current, &findings);
        if next == current {
            return changed;
        }
        changed = Some(next);
    }
    // It does not come to rest: nothing of it is believed.
    Some(placeholder("unreadable"))
}

fn remember(text: &str, findings: &[Finding<'_>], secrets: &mut Vec<(String, String)>) {
    for finding in findings.iter().filter(|finding| finding.repeats) {
        if let Some(value) = text.get(finding.start..finding.end)
            && (8..=4096).contains(&value.len())
            && secrets.len() < 1024
        {
            secrets.push((value.to_owned(), finding.rule.to_owned()));
        }
    }
}

struct Walk<'r> {
    scanner: Scanner<'r>,
    secrets: Vec<(String, String)>,
    keys: HashMap<String, Key>,
}

/// What a key says, looked up once.
#[derive(Clone, Copy)]
struct Key {
    name: Option<Name>,
    /// Its value is a name.
    names: bool,
    /// Its value is what the name beside it stands for.
    values: bool,
    /// Nothing in it must go.
    clean: bool,
}

impl Walk<'_> {
    fn value(&mut self, value: &Value, known: Option<Known>, depth: usize) -> Value {
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) => match known {
                Some(known) if known.direct && secret_number(known.name, &number.to_string()) => {
                    Value::String(placeholder(known.name.rule))
                }
                _ => value.clone(),
            },
            Value::String(text) => Value::String(self.leaf(text, known)),
            Value::Array(_) | Value::Object(_) if depth >= DEEPEST => Value::String(placeholder("too-deep")),
            Value::Array(items) => Value::Array(self.list(items, known, depth)),
            Value::Object(map) => Value::Object(self.map(map, known, depth)),
        }
    }

    fn leaf(&mut self, text: &str, known: Option<Known>) -> String {
        if let Some(known) = known
            && let Some(redacted) = self.named(text, known)
        {
            return redacted;
        }
        text_of(self.scanner, text, &mut self.secrets).unwrap_or_else(|| text.to_owned())
    }

    /// A text whose name is known to be a secret's.
    fn named(&mut self, text: &str, known: Known) -> Option<String> {
        let bytes = text.as_bytes();
        if placeholder_end(bytes, 0) == Some(bytes.len()) {
            return None;
        }
        let rule = known.name.rule;
        if known.name.class >= Class::Authorization {
            let named = format!("{rule}: {text}");
            let redacted = text_of(self.scanner, &named, &mut self.secrets)?;
            return redacted.strip_prefix(rule)?.strip_prefix(": ").map(str::to_owned);
        }
        let place = if known.direct { Place::Quoted } else { Place::Inside };
        // The repr of a text: the quotes stay.
        let prefix = usize::from(matches!(bytes.first(), Some(b'b' | b'r' | b'u')) && quote_at(bytes, 1).is_some());
        if let Some(quote) = quote_at(bytes, prefix)
            && quote.slashes == 0
            && let Some((end, next)) = close(bytes, quote, bytes.len())
            && next == bytes.len()
        {
            let inner = text.get(quote.end..end)?;
            return is_secret(known.name.class, inner.as_bytes(), place).then(|| {
                self.secret(inner, rule);
                format!("{}{}{}", &text[..quote.end], placeholder(rule), &text[end..])
            });
        }
        if !is_secret(known.name.class, bytes, place) {
            return None;
        }
        self.secret(text, rule);
        Some(placeholder(rule))
    }

    fn secret(&mut self, value: &str, rule: &str) {
        let bytes = value.as_bytes();
        let telling = worth::looks_random(bytes, 8) || bytes.len() >= 8 && worth::kinds(bytes) >= 3;
        if telling && bytes.len() <= 4096 && self.secrets.len() < 1024 {
            self.secrets.push((value.to_owned(), rule.to_owned()));
        }
    }

    fn list(&mut self, items: &[Value], known: Option<Known>, depth: usize) -> Vec<Value> {
        let named = self.named_items(items);
        let columns = header_columns(items);
        let mut out: Vec<Value> = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let own = named.iter().find(|(at, _)| *at == index).map(|(_, name)| Known { name: *name, direct: true });
            out.push(match (&columns, item) {
                (Some(columns), Value::Array(cells)) if index > 0 => Value::Array(self.row(cells, columns, depth + 1)),
                _ => self.value(item, own.or(known), depth + 1),
            });
        }
        if items.len() > 1 && items.iter().all(Value::is_string) {
            self.joined(&mut out, "\n");
            if items.iter().any(|item| item.as_str().is_some_and(|text| text.starts_with('-'))) {
                self.joined(&mut out, " ");
            }
        }
        out
    }

    /// Items that the item before them names: `["x-api-key", value]`, `["--token", value]`.
    fn named_items(&self, items: &[Value]) -> Vec<(usize, Name)> {
        let mut named = Vec::new();
        for (index, pair) in items.windows(2).enumerate() {
            let (Value::String(name), Value::String(value)) = (&pair[0], &pair[1]) else { continue };
            let plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'));
            let flag = name.starts_with('-') && !value.starts_with('-');
            if !(flag || items.len() == 2) || name.len() > 80 || !plain {
                continue;
            }
            let Some(found) = lexicon().name(name) else { continue };
            if lexicon().name(value).is_none() || worth::looks_random(value.as_bytes(), 8) {
                named.push((index + 1, found));
            }
        }
        named
    }

    fn row(&mut self, cells: &[Value], columns: &[Option<Name>], depth: usize) -> Vec<Value> {
        let known = |index: usize| columns.get(index).copied().flatten().map(|name| Known { name, direct: true });
        cells.iter().enumerate().map(|(index, cell)| self.value(cell, known(index), depth)).collect()
    }

    /// Texts of a list, read as lines of one text: keys in lines, tables, tokens in pieces, arguments of a command.
    fn joined(&mut self, items: &mut [Value], between: &str) {
        let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        let whole = texts.join(between);
        let findings = merge(&whole, self.scanner.find(&whole));
        if findings.is_empty() {
            return;
        }
        let mut start = 0;
        for item in items {
            let Value::String(text) = item else { continue };
            let end = start + text.len();
            let inside: Vec<Finding<'_>> = findings
                .iter()
                .filter(|finding| finding.start < end && finding.end > start)
                .map(|finding| Finding {
                    start: finding.start.max(start) - start,
                    end: finding.end.min(end) - start,
                    ..*finding
                })
                .collect();
            start = end + between.len();
            if !inside.is_empty() {
                remember(text, &inside, &mut self.secrets);
                *text = replace(text, &merge(text, inside));
            }
        }
    }

    fn map(&mut self, map: &Map<String, Value>, known: Option<Known>, depth: usize) -> Map<String, Value> {
        let keys: Vec<Key> = map.keys().map(|key| self.key(key)).collect();
        let beside = name_beside(map, &keys);
        let columns = columns_beside(map);
        let mut out = Map::with_capacity(map.len());
        for ((key, value), info) in map.iter().zip(&keys) {
            let child = child(*info, key, known, beside);
            let value = match (&columns, value) {
                (Some(columns), Value::Array(rows)) if is_rows_key(key) => Value::Array(
                    rows.iter()
                        .map(|row| match row {
                            Value::Array(cells) => Value::Array(self.row(cells, columns, depth + 2)),
                            other => self.value(other, child, depth + 2),
                        })
                        .collect(),
                ),
                _ => self.value(value, child, depth + 1),
            };
            let value = if self.scanner.personal { self.labelled(key, value) } else { value };
            if info.clean {
                out.insert(key.clone(), value);
                continue;
            }
            let key = text_of(self.scanner, key, &mut self.secrets).unwrap_or_else(|| key.clone());
            out.insert(free_key(&out, key), value);
        }
        out
    }

    fn key(&mut self, key: &str) -> Key {
        if let Some(known) = self.keys.get(key) {
            return *known;
        }
        let info = Key {
            name: lexicon().name(key),
            names: is_name_key(key),
            values: is_value_key(key),
            clean: text_of(self.scanner, key, &mut Vec::new()).is_none(),
        };
        if self.keys.len() < 4096 && key.len() < 200 {
            self.keys.insert(key.to_owned(), info);
        }
        info
    }

    /// Personal data that only its key tells.
    fn labelled(&self, key: &str, value: Value) -> Value {
        let text = match &value {
            Value::String(text) if self.scanner.personal && text.len() <= 64 => text.clone(),
            Value::Number(number) if self.scanner.personal && number.is_u64() => number.to_string(),
            _ => return value,
        };
        if key.len() > 60 || !text.bytes().any(|c| c.is_ascii_digit()) {
            return value;
        }
        let line = format!("{key}: {text}");
        let from = key.len() + 2;
        let findings: Vec<Finding<'_>> = super::personal::find(line.as_bytes())
            .into_iter()
            .filter(|hit| {
                hit.0 >= from && (value.is_string() || hit.0 == from && hit.1 == line.len() && hit.2 != "ip-address")
            })
            .map(|(start, end, rule)| Finding {
                start: start - from,
                end: end - from,
                rule,
                shaped: false,
                repeats: false,
            })
            .collect();
        if findings.is_empty() || text.starts_with("<redacted:") {
            value
        } else {
            Value::String(replace(&text, &merge(&text, findings)))
        }
    }

    /// Values that were found somewhere, wherever else they stand.
    fn again(&mut self, out: &mut Value) {
        let mut secrets = std::mem::take(&mut self.secrets);
        secrets.sort();
        secrets.dedup_by(|a, b| a.0 == b.0);
        secrets.retain(|(value, _)| value.len() >= 8 && !worth::stands_for_another(value.as_bytes()));
        if secrets.is_empty() {
            return;
        }
        let Ok(search) = aho_corasick::AhoCorasick::builder()
            .match_kind(aho_corasick::MatchKind::LeftmostLongest)
            .build(secrets.iter().map(|(value, _)| value.as_str()))
        else {
            return;
        };
        let replace_in = |text: &str| -> Option<String> {
            let findings: Vec<Finding<'_>> = search
                .find_iter(text)
                .filter(|hit| border(text.as_bytes(), hit.start()) || hit.len() >= 12)
                .map(|hit| Finding {
                    start: hit.start(),
                    end: hit.end(),
                    rule: &secrets[hit.pattern().as_usize()].1,
                    shaped: false,
                    repeats: false,
                })
                .collect();
            (!findings.is_empty()).then(|| replace(text, &merge(text, findings)))
        };
        each_text(out, &replace_in);
    }
}

/// What is known about the value of a key.
fn child(info: Key, key: &str, known: Option<Known>, beside: Option<Name>) -> Option<Known> {
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

fn each_text(value: &mut Value, change: &dyn Fn(&str) -> Option<String>) {
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
fn free_key(map: &Map<String, Value>, key: String) -> String {
    if !map.contains_key(&key) {
        return key;
    }
    (2..).map(|n| format!("{key}#{n}")).find(|key| !map.contains_key(key)).unwrap_or(key)
}

fn secret_number(name: Name, digits: &str) -> bool {
    let digits = digits.trim_start_matches('-');
    (name.class == Class::Strong || name.rule == "code" && name.class == Class::Named)
        && digits.len() >= 4
        && digits.bytes().all(|c| c.is_ascii_digit())
}

/// The secret's name in `{"name": NAME, "value": …}`.
fn name_beside(map: &Map<String, Value>, keys: &[Key]) -> Option<Name> {
    if map.len() > 32 || !keys.iter().any(|key| key.values) {
        return None;
    }
    map.values().zip(keys).filter(|(_, key)| key.names).find_map(|(value, _)| {
        let text = value.as_str().or_else(|| value.as_array()?.last()?.as_str())?;
        lexicon().name(text.rsplit('/').next()?)
    })
}

/// The secret columns in `{"columns": [...], "data": [[...]]}`.
fn columns_beside(map: &Map<String, Value>) -> Option<Vec<Option<Name>>> {
    let (_, columns) = map.iter().find(|(key, value)| value.is_array() && is_columns_key(key))?;
    let names = column_names(columns.as_array()?)?;
    (names.iter().any(Option::is_some) && map.keys().any(|key| is_rows_key(key))).then_some(names)
}

fn column_names(columns: &[Value]) -> Option<Vec<Option<Name>>> {
    columns
        .iter()
        .map(|column| match column {
            Value::String(name) => Some(lexicon().name(name)),
            Value::Object(map) => Some(
                map.iter().filter(|(key, _)| is_name_key(key)).find_map(|(_, name)| lexicon().name(name.as_str()?)),
            ),
            _ => None,
        })
        .collect()
}

fn is_columns_key(key: &str) -> bool {
    matches!(
        key.to_lowercase().as_str(),
        "columns"
            | "header"
            | "headers"
            | "fields"
            | "names"
            | "cols"
            | "schema"
            | "keys"
            | "column_names"
            | "fieldnames"
            | "description"
    )
}

fn is_rows_key(key: &str) -> bool {
    matches!(
        key.to_lowercase().as_str(),
        "data"
            | "rows"
            | "values"
            | "records"
            | "body"
            | "cells"
            | "items"
            | "result"
            | "results"
            | "sample"
            | "head"
            | "row"
            | "parameters"
    )
}

/// The secret columns of a list of rows whose first row is the header.
fn header_columns(items: &[Value]) -> Option<Vec<Option<Name>>> {
    let (Value::Array(header), Some(Value::Array(second))) = (items.first()?, items.get(1)) else { return None };
    if header.len() < 2
        || header.len() != second.len()
        || !header.iter().all(Value::is_string)
        || header.len() == 2 && items.len() == 2
    {
        return None;
    }
    let names = column_names(header)?;
    let second_is_value = header.len() == 2 && names[0].is_some();
    (names.iter().any(Option::is_some) && !second_is_value).then_some(names)
}
