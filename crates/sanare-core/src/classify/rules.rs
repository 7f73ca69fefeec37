//! The table of rules: read once, patterns compiled when their rule is first asked about.

use std::sync::OnceLock;

use regex::Regex;
use serde::Deserialize;

use super::Class;
use crate::evidence::Failure;

/// One rule of `rules.toml`; its head says what each part means.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) class: Class,
    pub(super) why: String,
    #[serde(default)]
    classes: Vec<String>,
    #[serde(default)]
    not: Vec<String>,
    #[serde(default)]
    errno: Vec<String>,
    #[serde(default)]
    status: Vec<i64>,
    #[serde(default)]
    message: Vec<Pattern>,
    #[serde(default)]
    statement: Vec<Pattern>,
    #[serde(default)]
    raised: bool,
    #[serde(default)]
    cause: Option<Class>,
}

#[derive(Deserialize)]
struct Table {
    rule: Vec<Rule>,
}

/// A pattern that is compiled when it is first needed; one that does not compile matches nothing, and a test finds it.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
struct Pattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self { text, compiled: OnceLock::new() }
    }
}

impl Pattern {
    fn regex(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| Regex::new(&self.text).ok()).as_ref()
    }

    fn is_in(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }
}

/// The first rule that fits. With `pass_deliberate` those of class deliberate are passed over.
pub(super) fn first(failure: &Failure, pass_deliberate: bool) -> Option<&'static Rule> {
    table().iter().filter(|rule| !(pass_deliberate && rule.class == Class::Deliberate)).find(|rule| rule.fits(failure))
}

fn table() -> &'static [Rule] {
    static TABLE: OnceLock<Vec<Rule>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let table = serde_json::from_str::<Table>(include_str!(concat!(env!("OUT_DIR"), "/classify-rules.json")));
        table.map(|table| table.rule).unwrap_or_default()
    })
}

impl Rule {
    fn fits(&self, failure: &Failure) -> bool {
        (!self.raised || failure.deliberate && !failure.by_repair)
            && (self.errno.is_empty()
                || failure.errno.is_some_and(|number| self.errno.iter().any(|name| is(name, number))))
            && (self.status.is_empty() || failure.http_status.is_some_and(|status| self.status.contains(&status)))
            && (self.classes.is_empty() || names(failure).any(|name| fits_any(&self.classes, name)))
            && !names(failure).any(|name| fits_any(&self.not, name))
            && (self.message.is_empty() || self.message.iter().any(|pattern| pattern.is_in(head(&failure.message))))
            && (self.statement.is_empty() || self.statement.iter().any(|pattern| pattern.is_in(statement(failure))))
            && self.cause.is_none_or(|class| failure.cause.as_deref().is_some_and(|cause| is_of(cause, class)))
    }
}

/// Whether an exception by itself would be of this class.
fn is_of(failure: &Failure, class: Class) -> bool {
    first(failure, false).is_some_and(|rule| rule.class == class)
}

/// The exception's class, then its bases.
fn names(failure: &Failure) -> impl Iterator<Item = &str> {
    let all = std::iter::once(&failure.class).chain(&failure.bases);
    all.map(|name| name.strip_prefix("builtins.").unwrap_or(name))
}

fn fits_any(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| glob(pattern, name))
}

/// Whether a name fits a pattern in which `*` stands for any text.
fn glob(pattern: &str, name: &str) -> bool {
    let Some((head, mut pattern)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    while let Some((part, rest)) = pattern.split_once('*') {
        let Some((_, after)) = name.split_once(part) else { return false };
        (pattern, name) = (rest, after);
    }
    name.ends_with(pattern)
}

/// Messages may be of any length; what a rule looks for stands near their beginning.
fn head(message: &str) -> &str {
    let mut end = message.len().min(4096);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.get(..end).unwrap_or_default()
}

fn statement(failure: &Failure) -> &str {
    failure.frames.last().map_or("", |frame| frame.statement.as_str())
}

/// Whether a number is this errno on Linux, macOS or Windows. No two of the names share a number on these.
fn is(name: &str, number: i64) -> bool {
    const NUMBERS: &[(&str, &[i64])] = &[
        ("EPERM", &[1]),
        ("ENOENT", &[2]),
        ("EINTR", &[4, 10004]),
        ("EIO", &[5]),
        ("ENOMEM", &[12]),
        ("EACCES", &[13, 10013]),
        ("ENOSPC", &[28]),
        ("EROFS", &[30]),
        ("EPIPE", &[32]),
        ("EAGAIN", &[11, 10035]),
        ("ENETDOWN", &[100, 50, 10050]),
        ("ENETUNREACH", &[101, 51, 10051]),
        ("ENETRESET", &[102, 52, 10052]),
        ("ECONNABORTED", &[103, 53, 10053]),
        ("ECONNRESET", &[104, 54, 10054]),
        ("ETIMEDOUT", &[110, 60, 10060]),
        ("ECONNREFUSED", &[111, 61, 10061]),
        ("EHOSTDOWN", &[112, 64, 10064]),
        ("EHOSTUNREACH", &[113, 65, 10065]),
        ("ESTALE", &[116, 70, 10070]),
        ("EDQUOT", &[122, 69, 10069]),
    ];
    NUMBERS.iter().any(|(known, numbers)| *known == name && numbers.contains(&number))
}

/// What is wrong with the table itself, for its test.
#[cfg(test)]
pub(super) fn faults() -> Vec<String> {
    let mut faults = Vec::new();
    if table().is_empty() {
        faults.push("the table cannot be read".to_owned());
    }
    let mut ids = std::collections::HashSet::new();
    for rule in table() {
        let mut fault = |what: String| faults.push(format!("{}: {what}", rule.id));
        if !ids.insert(&rule.id) {
            fault("its id is used twice".to_owned());
        }
        if !rule.message.is_empty() && rule.classes.is_empty() {
            fault("a message without a class".to_owned());
        }
        if rule.why.is_empty() || rule.why.ends_with('.') {
            fault("`why` is not a plain sentence".to_owned());
        }
        for pattern in rule.message.iter().chain(&rule.statement).filter(|pattern| pattern.regex().is_none()) {
            fault(format!("{} is no pattern", pattern.text));
        }
        for name in rule.errno.iter().filter(|name| !(1..=20_000).any(|number| is(name, number))) {
            fault(format!("{name} is no known errno"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn globs() {
        let check =
            |pattern: &str, name: &str, expected: bool| assert_eq!(glob(pattern, name), expected, "{pattern} {name}");
        check("KeyError", "KeyError", true);
        check("KeyError", "my.KeyError", false);
        check("*.RateLimitError", "openai.RateLimitError", true);
        check("*.RateLimitError", "RateLimitError", false);
        check("*.RateLimitError", "a.NotRateLimitError", false);
        check("grpc.*", "grpc._channel._InactiveRpcError", true);
        check("grpc.*", "grpcx.Error", false);
        check("deal.*ContractError", "deal._exceptions.PostContractError", true);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c", false);
    }
}
