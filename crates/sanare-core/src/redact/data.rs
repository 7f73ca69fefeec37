//! Data: values that are secret by their key, by the name beside them, by their column, or by their text.

mod column;
mod document;
mod key;
mod skim;
mod tree;

use column::{columns_beside, header_columns, parameters_beside};
pub(super) use document::redact_text;
use key::{Key, child, name_beside};
pub(super) use skim::members;
pub(super) use tree::copy;
use tree::{dismantle, each_text, free_key};

use super::echo::{Echo, Echoes};
use super::name::{Class, Name, lexicon};
use super::place::{Finding, merge, placeholder, placeholder_end, replace};
use super::quick::Quick;
use super::quote::{close, quote_at};
use super::rule::border;
use super::scan::Scanner;
use super::text::{remember, text_of};
use super::worth::{self, Place, is_flag, is_secret};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// How deep data is followed, as deep as it can be read from a text; what is deeper is replaced.
const DEEPEST: usize = 128;

/// What is known about a value before it is looked at.
#[derive(Clone, Copy)]
struct Known {
    name: Name,
    /// It is the value itself, not something inside it.
    direct: bool,
}

/// Redacts data in place.
pub(super) fn redact(scanner: Scanner<'_>, value: &mut Value) {
    // What was replaced changes what the rest is taken for: until nothing more is found, all is read again.
    for _ in 0..6 {
        let mut walk = Walk::new(scanner, true);
        walk.value(value, None, 0);
        let secrets = walk.told();
        if let Some(search) = search(&secrets) {
            each_text(value, &|text| echoes_replaced(&search, &secrets, text));
        }
        if !walk.changed {
            return;
        }
    }
    *value = Value::String(placeholder("unreadable"));
}

/// Redacts in place what the structure of data makes secret, without reading its texts.
pub(super) fn by_structure(scanner: Scanner<'_>, value: &mut Value) {
    Walk::new(scanner, false).value(value, None, 0);
}

/// The rule of a placeholder that is a whole text.
pub(super) fn rule_of(text: &str) -> Option<&'static str> {
    let rule = text.strip_prefix("<redacted:")?.strip_suffix('>')?;
    lexicon().rules().find(|known| *known == rule)
}

struct Walk<'r> {
    scanner: Scanner<'r>,
    secrets: Vec<(String, String)>,
    keys: HashMap<String, Key, Quick>,
    /// Whether texts are read, too.
    texts: bool,
    changed: bool,
}

impl<'r> Walk<'r> {
    fn new(scanner: Scanner<'r>, texts: bool) -> Self {
        Self { scanner, secrets: Vec::new(), keys: HashMap::default(), texts, changed: false }
    }

    fn value(&mut self, value: &mut Value, known: Option<Known>, depth: usize) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if let Some(known) = known
                    && known.direct
                    && secret_number(known.name, &number.to_string())
                {
                    *value = Value::String(placeholder(known.name.rule));
                    self.changed = true;
                }
            }
            Value::String(text) => {
                if let Some(redacted) = self.leaf(text, known) {
                    *text = redacted;
                    self.changed = true;
                }
            }
            Value::Array(_) | Value::Object(_) if depth >= DEEPEST => {
                self.changed = true;
                dismantle(std::mem::replace(value, Value::String(placeholder("too-deep"))));
            }
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
        if worth::is_telling(bytes) && bytes.len() <= 4096 && self.secrets.len() < 1024 {
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
        let named = if stirs || texts && !self.texts { self.named_items(items) } else { Vec::new() };
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
            let flag = name.starts_with('-') && !is_flag(value.as_bytes());
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
                self.changed = true;
            }
        }
    }

    fn map(&mut self, map: &mut Map<String, Value>, known: Option<Known>, depth: usize) {
        let keys: Vec<Key> = map.keys().map(|key| self.key(key)).collect();
        let beside = name_beside(map, &keys);
        let columns = columns_beside(map, &keys).or_else(|| parameters_beside(map, &keys));
        for ((key, value), info) in map.iter_mut().zip(&keys) {
            let child = child(*info, key, known, beside);
            match (&columns, &mut *value) {
                (Some(columns), Value::Array(rows)) if info.rows => self.rows(rows, columns, child, depth + 1),
                _ => self.value(value, child, depth + 1),
            }
            if info.label {
                self.labelled(key, value);
            }
        }
        if keys.iter().any(|key| !key.clean) {
            self.changed = true;
            for (key, value) in std::mem::take(map) {
                let key = text_of(self.scanner, &key, &mut self.secrets).unwrap_or(key);
                let key = free_key(map, key);
                map.insert(key, value);
            }
        }
    }

    /// Rows of cells, or the cells of one row.
    fn rows(&mut self, rows: &mut [Value], columns: &[Option<Name>], known: Option<Known>, depth: usize) {
        if !rows.iter().any(|row| row.is_array() || row.is_object()) {
            return self.row(rows, columns, depth);
        }
        for row in rows {
            match row {
                Value::Array(cells) => self.row(cells, columns, depth + 1),
                other => self.value(other, known, depth + 1),
            }
        }
    }

    fn key(&mut self, key: &str) -> Key {
        if let Some(known) = self.keys.get(key) {
            return *known;
        }
        let info = if self.texts { Key::of_text(key, self.scanner) } else { Key::new(key) };
        if self.keys.len() < 4096 && key.len() < 200 {
            self.keys.insert(key.to_owned(), info);
        }
        info
    }

    /// Personal data that only its key tells.
    fn labelled(&mut self, key: &str, value: &mut Value) {
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
            self.changed = true;
        }
    }

    /// Values that were found, and that are looked for wherever else they may stand.
    fn told(&mut self) -> Vec<(String, String)> {
        let mut secrets = std::mem::take(&mut self.secrets);
        secrets.sort();
        secrets.dedup_by(|a, b| a.0 == b.0);
        secrets.retain(|(value, _)| value.len() >= 8 && !worth::stands_for_another(value.as_bytes()));
        secrets
    }
}

fn search(secrets: &[(String, String)]) -> Option<Echoes<'_>> {
    Echoes::new(secrets.iter().map(|(value, _)| value.as_bytes()).collect())
}

fn echoes(search: &Echoes<'_>, text: &[u8]) -> Vec<Echo> {
    search.find(text, |start, end| border(text, start) || end - start >= 12)
}

/// A text without the values that are known from elsewhere; `None` if none of them is in it.
fn echoes_replaced(search: &Echoes<'_>, secrets: &[(String, String)], text: &str) -> Option<String> {
    let findings: Vec<Finding<'_>> = echoes(search, text.as_bytes())
        .into_iter()
        .map(|Echo { start, end, value }| Finding {
            start,
            end,
            rule: &secrets[value].1,
            shaped: false,
            repeats: false,
        })
        .collect();
    (!findings.is_empty()).then(|| replace(text, &merge(text, findings)))
}

fn secret_number(name: Name, digits: &str) -> bool {
    let digits = digits.trim_start_matches('-');
    (name.class == Class::Strong || name.rule == "code" && name.class == Class::Named)
        && digits.len() >= 4
        && digits.bytes().all(|c| c.is_ascii_digit())
}
