//! Strict reading of a file of settings: every key is asked for by its name, and what nobody asked for is unknown.
//!
//! All mistakes of a file are found at once, each with its line. Nothing that looks like a credential is read or repeated.

use std::cell::RefCell;
use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::model::setup::{Base, base};
use crate::redact::looks_like_secret;
use crate::service::invalid::{Invalid, quoted};
use crate::service::moment::{DAY, HOUR, MINUTE, SECOND};
use crate::settings::read::distance;
use crate::settings::{Origin, Trouble};

/// Where a secret is kept: never in the file itself.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretRef {
    /// In a variable of the environment.
    Env(String),
    /// In a file.
    File(String),
}

/// A header's value.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderValue {
    /// As it stands in the file.
    Plain(String),
    /// Kept elsewhere.
    Secret {
        /// What stands before it, such as `Bearer `.
        before: String,
        /// Where it is kept.
        place: SecretRef,
    },
}

/// An address that is asked: only what the file says, and nothing of it changes later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Scheme, host, port, path.
    pub base: Base,
    /// What stands behind the question mark.
    pub query: Option<String>,
    /// Whether http to another machine was asked for by its owner.
    pub allow_insecure: bool,
    /// A file with more certificates to believe.
    pub ca_file: Option<String>,
    /// The text.
    pub text: String,
}

impl serde::Serialize for Address {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
thread_local! {
    /// Every key that was asked for, for the test of the reference page.
    pub(super) static ASKED: RefCell<std::collections::BTreeSet<&'static str>> = RefCell::default();
}

/// A file that is read.
pub(super) struct Document<'t> {
    path: &'t str,
    text: &'t str,
    troubles: RefCell<Vec<Trouble>>,
}

impl<'t> Document<'t> {
    pub(super) fn new(path: &'t str, text: &'t str) -> Self {
        Self { path, text, troubles: RefCell::default() }
    }

    /// Everything that is wrong, in the order of the lines.
    pub(super) fn troubles(self) -> Vec<Trouble> {
        let mut troubles = self.troubles.into_inner();
        troubles.sort_by_key(|trouble| match trouble.origin {
            Origin::File { line, .. } => line,
            _ => 0,
        });
        troubles
    }

    pub(super) fn line(&self, offset: usize) -> usize {
        self.text.get(..offset).unwrap_or(self.text).matches('\n').count() + 1
    }

    pub(super) fn trouble(&self, line: usize, key: &str, message: impl Into<String>, hint: impl Into<String>) {
        let origin = Origin::File { path: self.path.to_owned(), line };
        let (message, hint) = (message.into(), hint.into());
        self.troubles.borrow_mut().push(Trouble { origin, key: quoted(key), message, hint });
    }
}

/// A table of the file, with the names that were asked for.
pub(super) struct Table<'t> {
    document: &'t Document<'t>,
    table: &'t DeTable<'t>,
    path: String,
    line: usize,
    asked: Vec<&'static str>,
}

type Found<'t> = &'t Spanned<DeValue<'t>>;

impl<'t> Table<'t> {
    pub(super) fn new(document: &'t Document<'t>, table: &'t DeTable<'t>, path: String, line: usize) -> Self {
        Self { document, table, path, line, asked: Vec::new() }
    }

    /// The line that it begins on.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// Whether a key stands there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.iter().any(|(name, _)| name.get_ref().as_ref() == key)
    }

    fn entry(&self, key: &str) -> Option<(usize, Found<'t>)> {
        let (name, value) = self.table.iter().find(|(name, _)| name.get_ref().as_ref() == key)?;
        Some((self.document.line(name.span().start), value))
    }

    fn ask(&mut self, key: &'static str) -> Option<Found<'t>> {
        #[cfg(test)]
        ASKED.with_borrow_mut(|asked| asked.insert(key));
        if !self.asked.contains(&key) {
            self.asked.push(key);
        }
        self.entry(key).map(|(_, value)| value)
    }

    fn full(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Notes what is wrong with a key, on its own line if it is there.
    pub(super) fn trouble(&self, key: &str, message: impl Into<String>, hint: impl Into<String>) {
        let line = self.entry(key).map_or(self.line, |(line, _)| line);
        self.document.trouble(line, &self.full(key), message, hint);
    }

    /// The same for a refused value.
    pub(super) fn invalid(&self, key: &str, invalid: &Invalid) {
        self.trouble(key, invalid.reason.clone(), "");
    }

    /// Notes that a key is missing, if it is.
    pub(super) fn needed<T>(&self, key: &str, value: Option<T>) -> Option<T> {
        if value.is_none() && !self.has(key) {
            self.trouble(key, "is missing", "");
        }
        value
    }

    fn wrong<T>(&self, key: &str, wants: &str) -> Option<T> {
        self.trouble(key, "this value is not allowed here", wants);
        None
    }

    fn clean(&self, key: &str, text: &str, most: usize) -> Option<String> {
        if looks_like_secret(text).is_some() {
            self.trouble(
                key,
                "this looks like a credential; it is not read",
                "write { env = \"NAME\" } or { file = \"PATH\" }",
            );
            return None;
        }
        let shown = text.chars().count();
        if shown > most || text.trim().is_empty() || text.chars().any(|symbol| symbol.is_control() && symbol != '\n') {
            return self.wrong(key, &format!("a text of 1 to {most} characters"));
        }
        Some(text.to_owned())
    }

    /// A text.
    pub(super) fn text(&mut self, key: &'static str, most: usize) -> Option<String> {
        match self.ask(key)?.get_ref() {
            DeValue::String(text) => self.clean(key, text, most),
            _ => self.wrong(key, "a text"),
        }
    }

    /// A text that something reads.
    pub(super) fn read<T>(&mut self, key: &'static str, read: impl Fn(&str) -> Result<T, Invalid>) -> Option<T> {
        let text = self.text(key, 1_000)?;
        read(&text).map_err(|invalid| self.invalid(key, &invalid)).ok()
    }

    /// A name of ours.
    pub(super) fn name<T: TryFrom<String, Error = Invalid>>(&mut self, key: &'static str) -> Option<T> {
        self.read(key, |text| T::try_from(text.to_owned()))
    }

    /// Names of ours, each once.
    pub(super) fn names<T: TryFrom<String, Error = Invalid> + PartialEq>(
        &mut self,
        key: &'static str,
    ) -> Option<Vec<T>> {
        self.reads(key, |text| T::try_from(text.to_owned()))
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, key: &'static str) -> Option<bool> {
        match self.ask(key)?.get_ref() {
            DeValue::Boolean(flag) => Some(*flag),
            _ => self.wrong(key, "true or false"),
        }
    }

    /// A whole number within limits.
    pub(super) fn integer(&mut self, key: &'static str, low: u64, high: u64) -> Option<u64> {
        let found = match self.ask(key)?.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok(),
            _ => None,
        };
        found
            .filter(|number| (low..=high).contains(number))
            .or_else(|| self.wrong(key, &format!("an integer from {low} to {high}")))
    }

    /// A finite number.
    pub(super) fn number(&mut self, key: &'static str) -> Option<f64> {
        let found = match self.ask(key)?.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', "").parse::<f64>().ok(),
            DeValue::Float(number) => number.as_str().replace('_', "").parse::<f64>().ok(),
            _ => None,
        };
        found.filter(|number| number.is_finite()).or_else(|| self.wrong(key, "a finite number"))
    }

    /// A text with a unit, in microseconds.
    pub(super) fn duration(&mut self, key: &'static str, low: u64, high: u64) -> Option<u64> {
        let found = match self.ask(key)?.get_ref() {
            DeValue::String(text) => micros(text),
            _ => None,
        };
        found.filter(|length| (low..=high).contains(length)).or_else(|| {
            let hint = format!("a text such as \"90s\" or \"2m\", from {} to {}", written(low), written(high));
            self.wrong(key, &hint)
        })
    }

    /// Texts.
    pub(super) fn texts(&mut self, key: &'static str, most: usize) -> Option<Vec<String>> {
        let wants = format!("a list of at most {most} texts");
        let DeValue::Array(items) = self.ask(key)?.get_ref() else { return self.wrong(key, &wants) };
        if items.len() > most {
            return self.wrong(key, &wants);
        }
        let mut texts = Vec::new();
        for item in items.iter() {
            match item.get_ref() {
                DeValue::String(text) => texts.push(self.clean(key, text, 4_096)?),
                _ => return self.wrong(key, &wants),
            }
        }
        Some(texts)
    }

    /// Texts that something reads, each once.
    pub(super) fn reads<T: PartialEq>(
        &mut self,
        key: &'static str,
        read: impl Fn(&str) -> Result<T, Invalid>,
    ) -> Option<Vec<T>> {
        let mut kept = Vec::new();
        for text in self.texts(key, 100)? {
            match read(&text) {
                Ok(one) if kept.contains(&one) => return self.wrong(key, "each of them once"),
                Ok(one) => kept.push(one),
                Err(invalid) => {
                    self.invalid(key, &invalid);
                    return None;
                }
            }
        }
        Some(kept)
    }

    /// An address, which only its owner may let leave the machine in the clear.
    pub(super) fn address(&mut self, key: &'static str) -> Option<Address> {
        let allow_insecure = self.flag("allow_insecure").unwrap_or(false);
        let ca_file = self.text("ca_file", 1_000);
        let text = self.text(key, 1_000)?;
        let (plain, query) = match text.split_once('?') {
            Some((plain, query)) => (plain, Some(query)),
            None => (text.as_str(), None),
        };
        let legal = |query: &str| query.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#' && byte != b'?');
        if !query.is_none_or(legal) {
            return self.wrong(key, "an address has host, port, path and query in plain letters");
        }
        match base(plain, allow_insecure) {
            Ok(base) => {
                Some(Address { base, query: query.map(str::to_owned), allow_insecure, ca_file, text: text.clone() })
            }
            Err(why) => {
                self.trouble(key, why.replace("model.allow_insecure", "allow_insecure = true"), "");
                None
            }
        }
    }

    /// A table of texts.
    pub(super) fn pairs(&mut self, key: &'static str) -> BTreeMap<String, String> {
        let Some(found) = self.ask(key) else { return BTreeMap::new() };
        let DeValue::Table(table) = found.get_ref() else {
            let _: Option<()> = self.wrong(key, "a table of texts");
            return BTreeMap::new();
        };
        let mut pairs = BTreeMap::new();
        for (name, value) in table {
            match value.get_ref() {
                DeValue::String(text) => {
                    let text = self.clean(key, text, 1_000).unwrap_or_default();
                    pairs.insert(name.get_ref().to_string(), text);
                }
                _ => {
                    let _: Option<()> = self.wrong(key, "a table of texts");
                }
            }
        }
        pairs
    }

    /// Headers: texts, or where a secret is.
    pub(super) fn headers(&mut self, key: &'static str) -> BTreeMap<String, HeaderValue> {
        let Some(mut table) = self.table(key) else { return BTreeMap::new() };
        let mut headers = BTreeMap::new();
        for (name, value) in table.table {
            let name = name.get_ref().to_string();
            let legal = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            if !legal || FIXED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                table.trouble(
                    &name,
                    "this header cannot be set",
                    "letters, digits and `-`; not one that the transport sets",
                );
                continue;
            }
            let value = match value.get_ref() {
                DeValue::String(_) if SECRET_HEADERS.contains(&name.to_ascii_lowercase().as_str()) => {
                    table.trouble(&name, INLINE, "write { env = \"NAME\" } or { file = \"PATH\" }");
                    continue;
                }
                DeValue::String(text) => table.clean(&name, text, 1_000).map(HeaderValue::Plain),
                DeValue::Table(inner) => table.secret_of(&name, inner),
                _ => table.wrong(&name, "a text, { env = \"NAME\" } or { file = \"PATH\" }"),
            };
            headers.extend(value.map(|value| (name, value)));
        }
        table.asked.clear();
        headers
    }

    /// Where a secret is, with nothing before it.
    pub(super) fn secret(&mut self, key: &'static str) -> Option<SecretRef> {
        let found = match self.ask(key)?.get_ref() {
            DeValue::Table(inner) => self.secret_of(key, inner)?,
            DeValue::String(_) => {
                self.trouble(key, INLINE, "write { env = \"NAME\" } or { file = \"PATH\" }");
                return None;
            }
            _ => return self.wrong(key, "{ env = \"NAME\" } or { file = \"PATH\" }"),
        };
        match found {
            HeaderValue::Secret { before, place } if before.is_empty() => Some(place),
            _ => self.wrong(key, "{ env = \"NAME\" } or { file = \"PATH\" }"),
        }
    }

    fn secret_of(&self, key: &str, table: &DeTable<'_>) -> Option<HeaderValue> {
        let (mut before, mut places) = (String::new(), Vec::new());
        for (name, value) in table {
            match (name.get_ref().as_ref(), value.get_ref().as_str()) {
                ("before", Some(text)) if text.len() <= 40 => text.clone_into(&mut before),
                ("env", Some(name)) if is_variable(name) => places.push(SecretRef::Env(name.to_owned())),
                ("file", Some(path)) if !path.trim().is_empty() => places.push(SecretRef::File(path.to_owned())),
                _ => return self.wrong(key, "{ env = \"NAME\" } or { file = \"PATH\" }, with or without `before`"),
            }
        }
        match (places.pop(), places.is_empty()) {
            (Some(place), true) => Some(HeaderValue::Secret { before, place }),
            _ => self.wrong(key, "{ env = \"NAME\" } or { file = \"PATH\" }, with or without `before`"),
        }
    }

    /// A table under a key.
    pub(super) fn table(&mut self, key: &'static str) -> Option<Table<'t>> {
        self.ask(key)?;
        let (line, value) = self.entry(key)?;
        match value.get_ref() {
            DeValue::Table(table) => Some(Table::new(self.document, table, self.full(key), line)),
            _ => self.wrong(key, "a table"),
        }
    }

    /// The tables within a table, by their names.
    pub(super) fn named(&mut self, key: &'static str) -> Vec<(String, Table<'t>)> {
        self.table(key).map(Table::children).unwrap_or_default()
    }

    /// Its own tables, by their names.
    pub(super) fn children(self) -> Vec<(String, Table<'t>)> {
        let mut all = Vec::new();
        for (name, value) in self.table {
            let line = self.document.line(name.span().start);
            let name = name.get_ref().to_string();
            match value.get_ref() {
                DeValue::Table(table) => {
                    all.push((name.clone(), Table::new(self.document, table, self.full(&name), line)));
                }
                _ => self.trouble(&name, "a table belongs here", ""),
            }
        }
        all
    }

    /// The list of tables under a key.
    pub(super) fn tables(&mut self, key: &'static str) -> Vec<Table<'t>> {
        let Some((line, value)) = self.ask(key).and_then(|_| self.entry(key)) else { return Vec::new() };
        let full = self.full(key);
        let wrong = |this: &Self| {
            this.trouble(key, "a list of tables belongs here", format!("write [[{full}]]"));
            Vec::new()
        };
        let DeValue::Array(items) = value.get_ref() else { return wrong(self) };
        let mut all = Vec::new();
        for (place, item) in items.iter().enumerate() {
            let DeValue::Table(table) = item.get_ref() else { return wrong(self) };
            all.push(Table::new(self.document, table, full.clone(), self.line_of(items, place, table, line)));
        }
        all
    }

    /// A `[[list]]` has no place of its own in the parser's tables: the line of its first key serves.
    fn line_of(&self, items: &DeArray<'_>, place: usize, table: &DeTable<'_>, otherwise: usize) -> usize {
        let own = items.get(place).map(|item| item.span()).filter(|span| span.end > 0);
        let first = table.iter().map(|(name, _)| name.span().start).min();
        own.map(|span| span.start).or(first).map_or(otherwise, |offset| self.document.line(offset))
    }

    /// A value as JSON, for what has a reader of its own.
    pub(super) fn json(&mut self, key: &'static str) -> Option<serde_json::Value> {
        self.ask(key).map(|value| json(value.get_ref()))
    }

    /// Names what nobody asked for.
    pub(super) fn finish(self) {
        for (name, _) in self.table {
            let name = name.get_ref().as_ref();
            if self.asked.contains(&name) {
                continue;
            }
            let near = self.asked.iter().map(|known| (distance(name, known), *known)).min();
            let hint = match near {
                Some((0..=2, known)) => format!("did you mean `{known}`"),
                _ => format!("one of {}", self.asked.join(", ")),
            };
            self.trouble(name, "unknown key", hint);
        }
    }
}

const INLINE: &str = "a secret is never written here";
/// Headers whose values are secrets.
const SECRET_HEADERS: [&str; 5] = ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"];
/// Headers that the transport sets.
const FIXED_HEADERS: [&str; 8] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "user-agent",
    "accept",
    "idempotency-key",
    "if-match",
];

fn is_variable(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first && name.len() <= 200 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Microseconds of a text with a unit.
fn micros(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1_000,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// A length as it would be written.
pub(super) fn written(length: u64) -> String {
    match [(DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s")].iter().find(|(unit, _)| length.is_multiple_of(*unit))
    {
        Some((unit, name)) if length > 0 => format!("{}{name}", length / unit),
        _ => format!("{}ms", length / 1_000),
    }
}

fn json(value: &DeValue<'_>) -> serde_json::Value {
    use serde_json::Value as Json;
    match value {
        DeValue::String(text) => Json::String(text.to_string()),
        DeValue::Boolean(flag) => Json::Bool(*flag),
        DeValue::Integer(number) => number.as_str().parse::<i64>().map_or(Json::Null, Json::from),
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Json::Null, Json::from),
        DeValue::Datetime(time) => Json::String(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => Json::Object(
            table.iter().map(|(name, value)| (name.get_ref().to_string(), json(value.get_ref()))).collect(),
        ),
    }
}
