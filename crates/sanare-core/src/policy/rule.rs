//! An owner's rule: conditions that must all hold, and a verdict that can only make things stricter (S94).
//!
//! Both halves use it. What a half does not know of a case is not there, and a condition on it does not hold.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Verdict;
use super::window::{Window, fixed_offset};
use crate::gate::{Answer, Gate, GateReport};

/// What rules are matched against.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Words by name: `kind`, `path`, `function`, `application`, `action` and so on.
    pub words: BTreeMap<&'static str, Vec<String>>,
    /// Numbers by name: `confidence`, `changed_lines`.
    pub numbers: BTreeMap<&'static str, f64>,
    /// How severe it is, where that is known: `low`, `medium`, `high`, `critical`.
    pub severity: Option<String>,
    /// What the gates said, once they ran.
    pub gates: Option<GateReport>,
    /// Milliseconds since 1970.
    pub now: u64,
    /// Minutes east of UTC, for each named zone of the rules.
    pub offsets: BTreeMap<String, i64>,
}

/// A rule of the owner's.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name in records.
    pub id: String,
    /// What it says when all conditions hold; never [`Verdict::Permit`].
    pub verdict: Verdict,
    /// Why, in the owner's words.
    pub reason: String,
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, PartialEq)]
enum Condition {
    Words(&'static str, Vec<String>),
    SeverityBelow(usize),
    Below(&'static str, f64),
    Over(&'static str, f64),
    Passed(Vec<Gate>),
    NotPassed(Vec<Gate>),
    During(Window),
}

/// Severities, mildest first.
const SEVERITIES: [&str; 4] = ["low", "medium", "high", "critical"];
const ACTIONS: [&str; 8] = [
    "restart_component",
    "reload_model",
    "rollback_model",
    "request_retraining",
    "request_redeployment",
    "run_diagnostic",
    "escalate",
    "no_action",
];
const CLOSED: [(&str, &[&str]); 6] = [
    ("proposer", &["drift", "model"]),
    ("tier", &["A", "B", "C"]),
    ("action", &ACTIONS),
    ("severity", &SEVERITIES),
    ("origin", &["rules", "model", "fallback", "person"]),
    ("mode", &["auto", "ask", "dry_run", "observe"]),
];

/// A rule as it stands in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    id: String,
    #[serde(default)]
    when: When,
    verdict: String,
    #[serde(default)]
    reason: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct When {
    application: Option<Vec<String>>,
    component: Option<Vec<String>>,
    kind: Option<Vec<String>>,
    action: Option<Vec<String>>,
    adapter: Option<Vec<String>>,
    origin: Option<Vec<String>>,
    severity: Option<Vec<String>>,
    severity_below: Option<String>,
    mode: Option<Vec<String>>,
    labels: Option<Vec<String>>,
    proposer: Option<Vec<String>>,
    tier: Option<Vec<String>>,
    path: Option<Vec<String>>,
    function: Option<Vec<String>>,
    environment: Option<Vec<String>>,
    confidence_below: Option<f64>,
    changed_lines_over: Option<f64>,
    gates_passed: Option<Vec<Gate>>,
    gates_not_passed: Option<Vec<Gate>>,
    during: Option<String>,
}

impl Rule {
    /// Takes a rule of the file, or says what is wrong with it.
    pub(super) fn accept(written: Written) -> Result<Self, String> {
        let Written { id, when, verdict, reason } = written;
        let wrong = |what: String| format!("rule `{id}`: {what}");
        if id.trim().is_empty() || id.len() > 100 {
            return Err("a rule needs an `id` of at most 100 characters".to_owned());
        }
        let verdict = match verdict.as_str() {
            "ask" => Verdict::Ask,
            "refuse" => Verdict::Refuse,
            "permit" => return Err(wrong("a rule can only ask or refuse: it never permits".to_owned())),
            other => return Err(wrong(format!("unknown verdict `{other}`; write ask or refuse"))),
        };
        let conditions = conditions(when).map_err(wrong)?;
        Ok(Self { id, verdict, reason, conditions })
    }

    /// The values that made every condition hold; `None` when one does not.
    pub fn fires(&self, facts: &Facts) -> Option<String> {
        let mut seen = Vec::new();
        for condition in &self.conditions {
            seen.push(condition.holds(facts)?);
        }
        Some(seen.join(", "))
    }

    /// Zones that it needs the clock of.
    pub(super) fn zone(&self) -> Option<&str> {
        self.conditions.iter().find_map(|condition| match condition {
            Condition::During(window) if fixed_offset(window.zone()).is_none() => Some(window.zone()),
            _ => None,
        })
    }
}

fn conditions(when: When) -> Result<Vec<Condition>, String> {
    let mut out = Vec::new();
    let lists = [
        ("application", when.application),
        ("component", when.component),
        ("kind", when.kind),
        ("action", when.action),
        ("adapter", when.adapter),
        ("origin", when.origin),
        ("severity", when.severity),
        ("mode", when.mode),
        ("labels", when.labels),
        ("proposer", when.proposer),
        ("tier", when.tier),
        ("path", when.path),
        ("function", when.function),
        ("environment", when.environment),
    ];
    for (name, list) in lists {
        let Some(list) = list else { continue };
        let known = CLOSED.iter().find(|(closed, _)| *closed == name).map(|(_, words)| *words);
        if let Some(words) = known
            && let Some(odd) = list.iter().find(|word| !words.contains(&word.as_str()))
        {
            return Err(format!("`{odd}` is no {name}; one of {}", words.join(", ")));
        }
        if list.is_empty() {
            return Err(format!("`{name}` is an empty list, which nothing can match"));
        }
        out.push(Condition::Words(name, list));
    }
    if let Some(word) = when.severity_below {
        let place = SEVERITIES.iter().position(|known| *known == word);
        out.push(Condition::SeverityBelow(place.ok_or_else(|| format!("`{word}` is no severity"))?));
    }
    if let Some(number) = when.confidence_below {
        if !(0.0..=1.0).contains(&number) {
            return Err(format!("`confidence_below` is {number}; it goes from 0 to 1"));
        }
        out.push(Condition::Below("confidence", number));
    }
    if let Some(number) = when.changed_lines_over {
        if number.is_nan() || number < 0.0 {
            return Err(format!("`changed_lines_over` is {number}; it is a count"));
        }
        out.push(Condition::Over("changed_lines", number));
    }
    out.extend(when.gates_passed.map(Condition::Passed));
    out.extend(when.gates_not_passed.map(Condition::NotPassed));
    if let Some(text) = when.during {
        out.push(Condition::During(Window::parse(&text)?));
    }
    match out.is_empty() {
        true => Err("it has no condition; use `mode` to ask or refuse always".to_owned()),
        false => Ok(out),
    }
}

impl Condition {
    /// What was seen, if it holds.
    fn holds(&self, facts: &Facts) -> Option<String> {
        match self {
            Self::Words(name, patterns) => {
                let words = facts.words.get(name)?;
                let hit = words.iter().find(|word| patterns.iter().any(|pattern| matches(pattern, word)))?;
                Some(format!("{name} {hit}"))
            }
            Self::SeverityBelow(limit) => {
                let severity = facts.severity.as_deref()?;
                let place = SEVERITIES.iter().position(|known| *known == severity)?;
                (place < *limit).then(|| format!("severity {severity}"))
            }
            Self::Below(name, limit) => {
                let number = facts.numbers.get(name)?;
                (number < limit).then(|| format!("{name} {number}"))
            }
            Self::Over(name, limit) => {
                let number = facts.numbers.get(name)?;
                (number > limit).then(|| format!("{name} {number}"))
            }
            Self::Passed(gates) => {
                let report = facts.gates.as_ref()?;
                let all = gates.iter().all(|gate| report.verdict(*gate) == Answer::Passed);
                all.then(|| format!("passed {}", words(gates)))
            }
            Self::NotPassed(gates) => {
                let report = facts.gates.as_ref()?;
                let missed: Vec<Gate> =
                    gates.iter().copied().filter(|gate| report.verdict(*gate) != Answer::Passed).collect();
                (!missed.is_empty()).then(|| format!("not passed {}", words(&missed)))
            }
            Self::During(window) => {
                let zone = window.zone();
                let offset = fixed_offset(zone).or_else(|| facts.offsets.get(zone).copied());
                match offset {
                    Some(offset) => window.contains(facts.now, offset).then(|| "within its hours".to_owned()),
                    // A rule whose clock cannot be read is kept: stricter rather than guessed.
                    None => Some(format!("the clock of `{zone}` is not known here")),
                }
            }
        }
    }
}

fn words(gates: &[Gate]) -> String {
    gates.iter().map(|gate| gate.word()).collect::<Vec<_>>().join(" and ")
}

/// `*` stands for any characters but `/`, `**` for any at all.
fn matches(pattern: &str, word: &str) -> bool {
    fn go(pattern: &[char], word: &[char]) -> bool {
        match pattern {
            [] => word.is_empty(),
            ['*', '*', rest @ ..] => (0..=word.len()).any(|skip| word.get(skip..).is_some_and(|left| go(rest, left))),
            ['*', rest @ ..] => {
                let reach = word.iter().position(|symbol| *symbol == '/').unwrap_or(word.len());
                (0..=reach).any(|skip| word.get(skip..).is_some_and(|left| go(rest, left)))
            }
            [symbol, rest @ ..] => word.split_first().is_some_and(|(first, left)| first == symbol && go(rest, left)),
        }
    }
    // Patterns and words are short; a long one is compared as it is.
    if pattern.len() > 200 || word.len() > 1_000 || pattern.matches('*').count() > 6 {
        return pattern == word;
    }
    go(&pattern.chars().collect::<Vec<_>>(), &word.chars().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::{CLOSED, matches};
    use crate::service::{Action, Origin, Severity};

    #[test]
    fn closed_lists_are_those_of_the_domain() {
        let list = |name: &str| CLOSED.iter().find(|(known, _)| *known == name).map(|(_, words)| words.to_vec());
        assert_eq!(list("action"), Some(Action::ALL.iter().map(|one| one.word()).collect()));
        assert_eq!(list("severity"), Some(Severity::ALL.iter().map(|one| one.word()).collect()));
        assert_eq!(list("origin"), Some(Origin::ALL.iter().map(|one| one.word()).collect()));
    }

    #[test]
    fn stars() {
        assert!(matches("billing/**", "billing/a/b.py"));
        assert!(!matches("billing/*", "billing/a/b.py"));
        assert!(matches("billing/*.py", "billing/b.py"));
        assert!(matches("**/test_*", "a/b/test_x"));
        assert!(!matches("billing", "billing2"));
    }
}
