//! Data: values that are secret by their key, by the name beside them, by their column, or by their text.

use super::entry::{is_name_key, is_value_key};
use super::name::{Class, Name, lexicon};
use super::place::{Finding, MARK, merge, placeholder, placeholder_end, replace};
use super::quote::{close, quote_at};
use super::rule::border;
use super::scan::{Quick, Scanner};
use super::worth::{self, Place, is_secret};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::ops::Range;

/// How deep data is followed; what is deeper is replaced.
const DEEPEST: usize = 200;

/// What is known about a value before it is looked at.
#[derive(Clone, Copy)]
struct Known {
    name: Name,
    /// It is the value itself, not something inside it.
    direct: bool,
}

/// Redacts data in place.
pub(super) fn redact(scanner: Scanner<'_>, value: &mut Value) {
    let mut walk = Walk { scanner, secrets: Vec::new(), keys: HashMap::default(), texts: true };
    walk.value(value, None, 0);
    walk.again(value);
}

/// Redacts in place what the structure of data makes secret, without reading its texts.
pub(super) fn by_structure(scanner: Scanner<'_>, value: &mut Value) {
    Walk { scanner, secrets: Vec::new(), keys: HashMap::default(), texts: false }.value(value, None, 0);
}

/// The rule of a placeholder that is a whole text.
pub(super) fn rule_of(text: &str) -> Option<&'static str> {
    let rule = text.strip_prefix("<redacted:")?.strip_suffix('>')?;
    lexicon().rules().find(|known| *known == rule)
}

/// Redacted text, or nothing if there is nothing to redact in it. What was found is added to `secrets`.
pub(super) fn text_of(scanner: Scanner<'_>, text: &str, secrets: &mut Vec<(String, String)>) -> Option<String> {
    let first = merge(text, scanner.find(text));
    if first.is_empty() {
        return None;
    }
    remember(text, &first, secrets);
    let mut current = replace(text, &first);
    // Placeholders change what stands beside what: until nothing more is found, those places are read again.
    for _ in 0..6 {
        let findings = again(scanner, &current);
        if findings.is_empty() {
            return (current != text).then_some(current);
        }
        remember(&current, &findings, secrets);
        current = replace(&current, &findings);
    }
    // It does not come to rest: nothing of it is believed.
    Some(placeholder("unreadable"))
}

/// What is still to be found: in a short text anywhere, in a long one round its placeholders.
fn again<'r>(scanner: Scanner<'r>, text: &str) -> Vec<Finding<'r>> {
    const LONG: usize = 8 * 1024;
    if text.len() <= LONG {
        return merge(text, scanner.find(text));
    }
    let mut findings = Vec::new();
    for region in around(text.as_bytes()) {
        let Some(part) = text.get(region.clone()) else { continue };
        findings.extend(scanner.find(part).into_iter().map(|finding| Finding {
            start: finding.start + region.start,
            end: finding.end + region.start,
            ..finding
        }));
    }
    merge(text, findings)
}

/// Whole lines round the placeholders of a text.
fn around(text: &[u8]) -> Vec<Range<usize>> {
    const NEAR: usize = 256;
    let mut regions: Vec<Range<usize>> = Vec::new();
    for at in memchr::memmem::find_iter(text, MARK) {
        let start = memchr::memrchr(b'\n', &text[..at.saturating_sub(NEAR)]).map_or(0, |n| n + 1);
        let from = (at + NEAR).min(text.len());
        let end = memchr::memchr(b'\n', &text[from..]).map_or(text.len(), |n| from + n + 1);
        match regions.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => regions.push(start..end),
        }
    }
    regions
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
    keys: HashMap<String, Key, Quick>,
    /// Whether texts are read, too.
    texts: bool,
}

/// What a key says, looked up once.
#[derive(Clone, Copy)]
struct Key {
    name: Option<Name>,
    /// Its value is a name.
    names: bool,
    /// Its value is what the name beside it stands for.
    values: bool,
    /// It may say what number its value is.
    label: bool,
    /// Nothing in it must go.
    clean: bool,
}

impl Walk<'_> {
    fn value(&mut self, value: &mut Value, known: Option<Known>, depth: usize) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if let Some(known) = known
                    && known.direct
                    && secret_number(known.name, &number.to_string())
                {
                    *value = Value::String(placeholder(known.name.rule));
                }
            }
            Value::String(text) => {
                if let Some(redacted) = self.leaf(text, known) {
                    *text = redacted;
                }
            }
            Value::Array(_) | Value::Object(_) if depth >= DEEPEST => *value = Value::String(placeholder("too-deep")),
            Value::Array(items) => self.list(items, known, depth),
            Value::Object(map) => self.map(map, known, depth),
        }
    }

    fn leaf(&mut self, text: &str, known: Option<Known>) -> Option<String> {
        let named = known.and_then(|known| self.named(text, known));
        if !self.texts {
            return named;
        }
        named.or_else(|| text_of(self.scanner, text, &mut self.secrets))
    }

    /// A text whose name is known to be a secret's.
    fn named(&mut self, text: &str, known: Known) -> Option<String> {
        let bytes = text.as_bytes();
        if placeholder_end(bytes, 0) == Some(bytes.len()) {
            return None;
        }
        let rule = known.name.rule;
        if known.name.class >= Class::Authorization {
            if !self.texts {
                return None;
            }
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

    fn list(&mut self, items: &mut [Value], known: Option<Known>, depth: usize) {
        let texts = items.len() > 1 && items.iter().all(Value::is_string);
        // Names and markers have keywords in them; a list without any is no more than its items.
        let stirs =
            texts && self.texts && items.iter().any(|item| item.as_str().is_some_and(|text| self.scanner.stirs(text)));
        let flags =
            texts && self.texts && items.iter().any(|item| item.as_str().is_some_and(|text| text.starts_with('-')));
        let named = if stirs || items.len() == 2 && items[0].is_string() || texts && !self.texts {
            self.named_items(items)
        } else {
            Vec::new()
        };
        let columns = header_columns(items);
        for (index, item) in items.iter_mut().enumerate() {
            let own = named.iter().find(|(at, _)| *at == index).map(|(_, name)| Known { name: *name, direct: true });
            match (&columns, item) {
                (Some(columns), Value::Array(cells)) if index > 0 => self.row(cells, columns, depth + 1),
                (_, item) => self.value(item, own.or(known), depth + 1),
            }
        }
        if stirs {
            self.joined(items, "\n");
        }
        if flags {
            self.joined(items, " ");
        }
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

    fn row(&mut self, cells: &mut [Value], columns: &[Option<Name>], depth: usize) {
        for (index, cell) in cells.iter_mut().enumerate() {
            let known = columns.get(index).copied().flatten().map(|name| Known { name, direct: true });
            self.value(cell, known, depth);
        }
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

    fn map(&mut self, map: &mut Map<String, Value>, known: Option<Known>, depth: usize) {
        let mut beside = None;
        let mut columns = None;
        let mut clean = true;
        let (mut names, mut values, mut lists) = (false, false, false);
        for (key, value) in map.iter() {
            let info = self.key(key);
            names |= info.names;
            values |= info.values;
            clean &= info.clean;
            lists |= value.is_array();
        }
        if names && values && map.len() <= 32 {
            beside = self.name_beside(map);
        }
        if lists {
            columns = columns_beside(map).or_else(|| parameters_beside(map));
        }
        for (key, value) in map.iter_mut() {
            let info = self.key(key);
            let child = child(info, key, known, beside);
            match (&columns, &mut *value) {
                (Some(columns), Value::Array(cells))
                    if is_rows_key(key) && !cells.iter().any(|cell| cell.is_array() || cell.is_object()) =>
                {
                    self.row(cells, columns, depth + 1);
                }
                (Some(columns), Value::Array(rows)) if is_rows_key(key) => {
                    for row in rows {
                        match row {
                            Value::Array(cells) => self.row(cells, columns, depth + 2),
                            other => self.value(other, child, depth + 2),
                        }
                    }
                }
                _ => self.value(value, child, depth + 1),
            }
            if info.label {
                self.labelled(key, value);
            }
        }
        if !clean {
            for (key, value) in std::mem::take(map) {
                let key = text_of(self.scanner, &key, &mut self.secrets).unwrap_or(key);
                let key = free_key(map, key);
                map.insert(key, value);
            }
        }
    }

    /// The secret's name in `{"name": NAME, "value": …}`.
    fn name_beside(&mut self, map: &Map<String, Value>) -> Option<Name> {
        map.iter().find_map(|(key, value)| {
            if !self.key(key).names {
                return None;
            }
            let text = value.as_str().or_else(|| value.as_array()?.last()?.as_str())?;
            lexicon().name(text.rsplit('/').next()?)
        })
    }

    fn key(&mut self, key: &str) -> Key {
        if let Some(known) = self.keys.get(key) {
            return *known;
        }
        let info = Key {
            name: lexicon().name(key),
            names: is_name_key(key),
            values: is_value_key(key),
            label: self.texts && self.scanner.personal && super::personal::may_label(key),
            clean: !self.texts || text_of(self.scanner, key, &mut Vec::new()).is_none(),
        };
        if self.keys.len() < 4096 && key.len() < 200 {
            self.keys.insert(key.to_owned(), info);
        }
        info
    }

    /// Personal data that only its key tells.
    fn labelled(&self, key: &str, value: &mut Value) {
        let text = match &*value {
            Value::String(text) if text.len() <= 64 && !text.starts_with("<redacted:") => text.clone(),
            Value::Number(number) if number.is_u64() => number.to_string(),
            _ => return,
        };
        if key.len() > 60 || !text.bytes().any(|c| c.is_ascii_digit()) {
            return;
        }
        let line = format!("{key}: {text}");
        let from = key.len() + 2;
        let whole = |hit: &super::personal::Hit| hit.0 == from && hit.1 == line.len() && hit.2 != "ip-address";
        let findings: Vec<Finding<'_>> = super::personal::find(line.as_bytes(), &[key.len()])
            .into_iter()
            .filter(|hit| hit.0 >= from && (value.is_string() || whole(hit)))
            .map(|(start, end, rule)| Finding {
                start: start - from,
                end: end - from,
                rule,
                shaped: false,
                repeats: false,
            })
            .collect();
        if !findings.is_empty() {
            *value = Value::String(replace(&text, &merge(&text, findings)));
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

/// The secret columns in `{"columns": [...], "data": [[...]]}`.
fn columns_beside(map: &Map<String, Value>) -> Option<Vec<Option<Name>>> {
    let (_, columns) = map.iter().find(|(key, value)| value.is_array() && is_columns_key(key))?;
    let names = column_names(columns.as_array()?)?;
    (names.iter().any(Option::is_some) && map.keys().any(|key| is_rows_key(key))).then_some(names)
}

/// The secret parameters of a statement that stands beside them.
fn parameters_beside(map: &Map<String, Value>) -> Option<Vec<Option<Name>>> {
    let statement = map.iter().find_map(|(key, value)| {
        matches!(key.to_lowercase().as_str(), "sql" | "query" | "statement" | "stmt" | "operation")
            .then(|| value.as_str())?
    })?;
    let names = super::sql::parameter_names(statement);
    names.iter().any(Option::is_some).then_some(names)
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
            | "params"
            | "args"
            | "binds"
            | "bind_params"
            | "vars"
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
