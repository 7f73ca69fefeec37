//! The redactor: the only door through which captured text may leave the failing process.
//!
//! [`Redacted`] has no other constructor than the functions of a [`Redactor`], so a place that accepts `Redacted` text
//! cannot be given raw text by mistake. What the redactor finds it replaces by a placeholder that names its rule,
//! `<redacted:rule>`; what it cannot read it replaces as a whole. Redacting twice gives the same text.

mod assign;
mod data;
mod echo;
mod encoded;
mod entry;
mod joined;
mod literal;
mod name;
mod pem;
mod personal;
mod place;
mod quick;
mod quote;
mod repeat;
mod rule;
mod scan;
mod search;
mod shorten;
mod sql;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod url;
mod view;
mod worth;

use regex::bytes::Regex;
use rule::Rules;
use scan::Scanner;
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// Text or data that went through a [`Redactor`]. `Debug` and `Display` print the redacted text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Redacted<T> {
    inner: T,
}

impl<T> Redacted<T> {
    /// The redacted content, taken out.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T> AsRef<T> for Redacted<T> {
    fn as_ref(&self) -> &T {
        &self.inner
    }
}

impl Redacted<String> {
    /// The redacted text.
    pub fn as_str(&self) -> &str {
        &self.inner
    }

    /// Text read back from one of our own records, which was redacted on entry. The record is not believed: the
    /// standard redactor runs again, and since it is idempotent an honest record stays as it is.
    pub fn from_record(text: &str) -> Self {
        Redactor::standard().text(text)
    }
}

impl Redacted<Value> {
    /// Data read back from one of our own records; see [`Redacted::<String>::from_record`].
    pub fn from_record(value: &Value) -> Self {
        Redactor::standard().json(value)
    }

    /// The same with each text cut to the limit that its path of names has. Redacted first and cut then, so that no cut
    /// leaves half a secret; what was cut says its whole length.
    #[must_use]
    pub fn cut_texts(mut self, limit: &dyn Fn(&[String]) -> usize) -> Self {
        shorten::texts(&mut self.inner, &mut Vec::new(), limit);
        self
    }
}

impl<T: fmt::Display> fmt::Display for Redacted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: fmt::Debug> fmt::Debug for Redacted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: Serialize> Serialize for Redacted<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.inner.serialize(serializer)
    }
}

/// What is taken out beside secrets, which are always taken out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Personal data too: e-mail addresses, phone, card and account numbers, national ids, public addresses.
    pub personal: bool,
}

/// A rule of the user's own; it adds to the standard rules and never removes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraRule {
    /// The id, which the placeholder shows: lower-case letters, digits and `-`.
    pub id: String,
    /// A regular expression in the syntax of the `regex` crate; a group named `secret` narrows what is replaced.
    pub pattern: String,
    /// Texts that must be changed by the rule.
    pub examples: Vec<String>,
    /// Texts that must not be changed by it.
    pub counterexamples: Vec<String>,
}

/// Why a user's rule was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RuleTrouble {
    /// The id is empty or has other characters than lower-case letters, digits and `-`.
    #[error("rule id `{0}` may only have lower-case letters, digits and `-`")]
    Id(String),
    /// The pattern is not a regular expression.
    #[error("rule `{0}`: pattern cannot be read: {1}")]
    Pattern(String, String),
    /// An example is not changed, or a counterexample is.
    #[error("rule `{0}`: example disagrees with its pattern: `{1}`")]
    Example(String, String),
}

/// The rules, ready to run. Rules are compiled on their first keyword hit.
pub struct Redactor {
    policy: Policy,
    rules: Rules,
    extra: Vec<(String, Regex)>,
}

impl Redactor {
    fn new(policy: Policy, extra: Vec<(String, Regex)>) -> Self {
        Self { policy, rules: Rules::new(policy), extra }
    }

    /// The standard rules: secrets, no personal data.
    pub fn standard() -> &'static Self {
        static STANDARD: OnceLock<Redactor> = OnceLock::new();
        STANDARD.get_or_init(|| Self::new(Policy::default(), Vec::new()))
    }

    /// The standard rules and personal data.
    pub fn with_personal() -> &'static Self {
        static PERSONAL: OnceLock<Redactor> = OnceLock::new();
        PERSONAL.get_or_init(|| Self::new(Policy { personal: true }, Vec::new()))
    }

    /// The redactor for a policy.
    pub fn of(policy: Policy) -> &'static Self {
        if policy.personal { Self::with_personal() } else { Self::standard() }
    }

    /// The standard rules and the user's own, whose examples are checked first.
    pub fn with_extra(policy: Policy, rules: Vec<ExtraRule>) -> Result<Self, RuleTrouble> {
        let mut extra = Vec::with_capacity(rules.len());
        for rule in rules {
            let regex = rule::check_extra(&rule)?;
            extra.push((rule.id, regex));
        }
        Ok(Self::new(policy, extra))
    }

    /// The policy that this redactor was made for.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    fn scanner(&self) -> Scanner<'_> {
        Scanner { rules: &self.rules, personal: self.policy.personal, extra: &self.extra }
    }

    /// Redacted text.
    pub fn text(&self, text: &str) -> Redacted<String> {
        let redact = || text::text_of(self.scanner(), text, &mut Vec::new()).unwrap_or_else(|| text.to_owned());
        Redacted { inner: closed(redact, || place::placeholder("unreadable")) }
    }

    /// Redacted text of at most `limit` characters: redacted first, then cut, so that no cut leaves half a secret.
    /// Hand in at least 1 KiB more than the limit, if there is more.
    pub fn text_cut(&self, text: &str, limit: usize) -> Redacted<String> {
        let mut text = self.text(text).inner;
        if let Some((end, _)) = text.char_indices().nth(limit) {
            text.truncate(place::cut_before(text.as_bytes(), end));
        }
        Redacted { inner: text }
    }

    /// Redacted text of bytes; what is not UTF-8 becomes the replacement character.
    pub fn bytes(&self, bytes: &[u8]) -> Redacted<String> {
        self.text(&String::from_utf8_lossy(bytes))
    }

    /// Redacted data: keys and lengths stay, values that are secret by name, place or shape are replaced.
    pub fn json(&self, value: &Value) -> Redacted<Value> {
        // The copy goes no deeper than the redactor does, so that no data can exhaust the stack.
        let copy = || data::copy(value, 0);
        self.json_owned(closed(copy, || Value::String(place::placeholder("unreadable"))))
    }

    /// As [`Redactor::json`], for data that is not needed any more.
    pub fn json_owned(&self, mut value: Value) -> Redacted<Value> {
        let redact = || {
            data::redact(self.scanner(), &mut value);
            value
        };
        Redacted { inner: closed(redact, || Value::String(place::placeholder("unreadable"))) }
    }

    /// Redacted JSON text, as [`Redactor::json`] redacts the data that it stands for. What holds no secret stays as it is
    /// written, spaces and numbers too.
    ///
    /// # Errors
    /// The text is not JSON.
    pub fn json_text(&self, text: &str) -> Result<Redacted<String>, serde_json::Error> {
        if let Some(inner) = closed(|| data::redact_text(self.scanner(), text), || None) {
            return Ok(Redacted { inner });
        }
        let value = serde_json::from_str(text)?;
        Ok(Redacted { inner: self.json_owned(value).inner.to_string() })
    }

    /// One line of the JSON-lines command: `form` is `text` or `json`.
    pub fn item(&self, form: &str, payload: &Value) -> Value {
        match (form, payload) {
            ("text", Value::String(text)) => Value::String(self.text(text).inner),
            _ => self.json(payload).inner,
        }
    }

    /// The secrets in a text, in order and without overlap: where, and by which rule.
    pub fn secrets_in(&self, text: &str) -> Vec<(Range<usize>, String)> {
        let find = || {
            let findings = place::merge(text, self.scanner().find(text));
            findings.iter().map(|finding| (finding.start..finding.end, finding.rule.to_owned())).collect()
        };
        closed(find, || vec![(0..text.len(), "unreadable".to_owned())])
    }
}

/// The members of a JSON mapping as they are written: names without their quotes, and values. Nothing if the text is no such
/// mapping or one of the names has escapes; what is wrong within a value is left to who reads it.
pub fn members(text: &str) -> Option<Vec<(&str, &str)>> {
    data::members(Redactor::standard().scanner(), text)
}

/// Runs a step of the redactor; should it ever panic, everything counts as a secret.
fn closed<T>(step: impl FnOnce() -> T, otherwise: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|_| otherwise())
}

/// The secrets in a text by the standard rules: where, and by which rule.
pub fn secrets_in(text: &str) -> Vec<(Range<usize>, String)> {
    Redactor::standard().secrets_in(text)
}

/// Whether a value of this name is a secret (`db_password`, `X-Api-Key`, `jelszó`) unless it looks like a word, a path
/// or code.
pub fn is_secret_name(name: &str) -> bool {
    name::lexicon().name(name).is_some_and(|name| name.class != name::Class::Hint)
}

/// The rule by which a bare value, with nothing around it, is known as a secret.
pub fn looks_like_secret(value: &str) -> Option<String> {
    Redactor::standard().secrets_in(value).into_iter().next().map(|(_, rule)| rule)
}
