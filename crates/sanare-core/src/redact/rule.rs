//! Rules as data: keywords that call a rule, and a pattern that runs on a window round the keyword.

use super::name;
use super::search::{Keyword, Search, stands_together};
use super::worth;
use super::{ExtraRule, Policy, RuleTrouble};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The rule files, as the build has read them: without their examples.
const FILES: [&str; 3] = [
    include_str!(concat!(env!("OUT_DIR"), "/redaction-clouds.json")),
    include_str!(concat!(env!("OUT_DIR"), "/redaction-services.json")),
    include_str!(concat!(env!("OUT_DIR"), "/redaction-places.json")),
];

/// A further test of what a pattern found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Check {
    /// Not a placeholder, template or mask.
    #[default]
    Real,
    /// It looks random, too.
    Random,
    /// As a password: anything but a word of prose, code or a path.
    Password,
    /// Base64 of `user:password`.
    Basic,
}

/// A rule as it is written in a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleText {
    pub id: String,
    pub keywords: Vec<String>,
    pub pattern: String,
    /// How many bytes before the keyword the pattern may begin; 0: it begins with the keyword.
    #[serde(default)]
    pub before: usize,
    /// How many bytes from the keyword on the pattern sees.
    #[serde(default = "window")]
    pub window: usize,
    #[serde(default)]
    pub check: Check,
    /// How many letters, digits, `_`, `-` and `.` must stand together from the keyword on, at least.
    #[serde(default)]
    pub least: usize,
    /// The keyword counts in any case.
    #[serde(default)]
    pub any_case: bool,
    /// The keyword may stand inside a word.
    #[serde(default)]
    pub inside: bool,
    /// The keyword is so telling that a cut or broken token behind it is a secret too.
    #[serde(default)]
    pub telling: bool,
    /// Texts that the rule finds something in: for the tests and for readers of the file.
    #[cfg(test)]
    #[serde(default)]
    pub examples: Vec<String>,
    /// Texts that it finds nothing in.
    #[cfg(test)]
    #[serde(default)]
    pub counterexamples: Vec<String>,
}

fn window() -> usize {
    400
}

#[derive(Deserialize)]
struct File {
    rule: Vec<RuleText>,
}

/// A rule, compiled when its keyword first occurs.
pub(super) struct Rule {
    pub text: RuleText,
    regex: OnceLock<Option<Regex>>,
}

impl Rule {
    fn new(text: RuleText) -> Self {
        Self { text, regex: OnceLock::new() }
    }

    fn regex(&self) -> Option<&Regex> {
        let make = || {
            let pattern =
                if self.text.before == 0 { format!(r"\A(?:{})", self.text.pattern) } else { self.text.pattern.clone() };
            RegexBuilder::new(&pattern).unicode(false).size_limit(1 << 24).build().ok()
        };
        self.regex.get_or_init(make).as_ref()
    }

    /// Where the secret is, for a keyword at `start..end`. `None` if the rule does not hold here.
    pub fn find(&self, text: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
        let from = start.saturating_sub(self.text.before);
        let slice = &text[from..text.len().min(start + self.text.window)];
        let regex = self.regex()?;
        for captures in regex.captures_iter(slice).take(8) {
            let whole = captures.get(0)?;
            if from + whole.start() > start {
                return None;
            }
            if from + whole.end() < end {
                continue;
            }
            let secret = captures.name("secret").unwrap_or(whole);
            if self.holds(secret.as_bytes()) {
                return Some((from + secret.start(), from + secret.end()));
            }
        }
        None
    }

    fn holds(&self, secret: &[u8]) -> bool {
        if worth::stands_for_another(secret) {
            return false;
        }
        match self.text.check {
            Check::Real => true,
            Check::Random => worth::looks_random(secret, 8),
            Check::Password => worth::is_secret(name::Class::Strong, secret, worth::Place::Bare),
            Check::Basic => super::encoded::is_basic(secret),
        }
    }

    /// Whether a keyword at this place calls the rule at all: its case, and a border before it.
    pub fn called(&self, text: &[u8], start: usize, end: usize) -> bool {
        let written = &text[start..end];
        (self.text.any_case || self.text.keywords.iter().any(|keyword| keyword.as_bytes() == written))
            && (self.text.least == 0 || stands_together(text, start, self.text.least))
            && (self.text.inside || self.text.before > 0 || border(text, start))
    }
}

/// Whether a word begins at `at`: no letter or digit stands before it, unless that belongs to an escape.
pub(super) fn border(text: &[u8], at: usize) -> bool {
    let Some(previous) = at.checked_sub(1).map(|i| text[i]) else { return true };
    if !previous.is_ascii_alphanumeric() {
        return true;
    }
    let back = |n: usize| at.checked_sub(n).map(|i| text[i]);
    let escaped = back(2) == Some(b'\\') && matches!(previous, b'n' | b'r' | b't' | b'b' | b'f' | b'v' | b'0');
    let percent = back(3) == Some(b'%') && previous.is_ascii_hexdigit();
    escaped || percent
}

/// What a keyword calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    /// Part of a name; `any` if a plain word can be its secret.
    Name { any: bool },
    /// A rule of the list.
    Rule(usize),
    /// `://`.
    Url,
    /// `PRIVATE KEY`.
    Pem,
    /// The beginning of a placeholder.
    Placeholder,
    /// A character or code that hides: colour codes, NUL, zero-width characters.
    Odd,
    /// A statement with values or parameters.
    Sql,
    /// A word that says what number follows.
    Label,
    /// `@`, for addresses.
    At,
}

/// All rules and the one search over their keywords.
pub(super) struct Rules {
    pub list: Vec<Rule>,
    /// For each keyword what it calls.
    pub triggers: Vec<Vec<Trigger>>,
    pub search: Option<Search>,
}

impl Rules {
    /// The rules of the files.
    pub fn new(policy: Policy) -> Self {
        let mut list: Vec<Rule> = Vec::new();
        for text in FILES {
            let file = serde_json::from_str::<File>(text);
            debug_assert!(file.is_ok(), "{:?}", file.err());
            list.extend(file.map(|file| file.rule).unwrap_or_default().into_iter().map(Rule::new));
        }
        let mut calls: BTreeMap<Vec<u8>, Vec<Trigger>> = BTreeMap::new();
        let mut call = |keyword: &str, trigger: Trigger| {
            let triggers = calls.entry(keyword.to_ascii_lowercase().into_bytes()).or_default();
            if !triggers.contains(&trigger) {
                triggers.push(trigger);
            }
        };
        for (index, rule) in list.iter().enumerate() {
            for keyword in &rule.text.keywords {
                call(keyword, Trigger::Rule(index));
            }
        }
        for (part, any) in &name::lexicon().parts {
            call(part, Trigger::Name { any: *any });
        }
        call("://", Trigger::Url);
        call(":\\/\\/", Trigger::Url);
        call("private key", Trigger::Pem);
        for word in ["insert into", "replace into", "parameters:", "params", "update "] {
            call(word, Trigger::Sql);
        }
        call("<redacted:", Trigger::Placeholder);
        for odd in [
            "\x1b[", "\0", "\u{200b}", "\u{200c}", "\u{200d}", "\u{200e}", "\u{200f}", "\u{2060}", "\u{feff}",
            "\u{ad}", "\u{ff1a}", "\u{ff1d}", "\u{201c}", "\u{201d}", "\u{201e}", "\u{ab}",
        ] {
            call(odd, Trigger::Odd);
        }
        if policy.personal {
            call("@", Trigger::At);
        }
        if policy.personal {
            for word in super::personal::LABELS {
                call(word, Trigger::Label);
            }
        }
        let least = |triggers: &[Trigger]| {
            let one = |trigger: &Trigger| if let Trigger::Rule(index) = trigger { list[*index].text.least } else { 0 };
            triggers.iter().map(one).min().unwrap_or(0)
        };
        let keyword =
            |(word, triggers): (&Vec<u8>, &Vec<Trigger>)| Keyword { word: word.clone(), least: least(triggers) };
        let search = Search::new(calls.iter().map(keyword).collect());
        debug_assert!(search.is_some());
        Self { list, triggers: calls.into_values().collect(), search }
    }
}

/// The rules of the files as they are written, with their examples.
#[cfg(test)]
pub(super) fn written() -> Vec<RuleText> {
    let files = [
        include_str!("../../data/redaction/clouds.toml"),
        include_str!("../../data/redaction/services.toml"),
        include_str!("../../data/redaction/places.toml"),
    ];
    files.iter().flat_map(|text| toml::from_str::<File>(text).unwrap().rule).collect()
}

/// A user's rule, if its id, pattern and examples hold. It has no keyword of its own: its literal beginning is used
/// if there is one, else it runs line by line.
pub(super) fn check_extra(rule: &ExtraRule) -> Result<Regex, RuleTrouble> {
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if rule.id.is_empty() || rule.id.len() > 60 || !rule.id.chars().all(valid) {
        return Err(RuleTrouble::Id(rule.id.clone()));
    }
    let regex = RegexBuilder::new(&rule.pattern)
        .size_limit(1 << 22)
        .build()
        .map_err(|error| RuleTrouble::Pattern(rule.id.clone(), first_line(&error.to_string())))?;
    if regex.is_match(b"") {
        return Err(RuleTrouble::Pattern(rule.id.clone(), "it matches the empty text".to_owned()));
    }
    for example in &rule.examples {
        if !regex.is_match(example.as_bytes()) {
            return Err(RuleTrouble::Example(rule.id.clone(), example.clone()));
        }
    }
    for example in &rule.counterexamples {
        if regex.is_match(example.as_bytes()) {
            return Err(RuleTrouble::Example(rule.id.clone(), example.clone()));
        }
    }
    Ok(regex)
}

fn first_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().trim().to_owned()
}
