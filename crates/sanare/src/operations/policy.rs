//! Looking at decisions: `sanare policy explain` and `sanare policy test` (S98).

use std::path::Path;

use sanare_core::gate::{Check, Gate, GateReport};
use sanare_core::incident::{Mode, ProposerName, Rules};
use sanare_core::policy::{BUILT_IN, Decision, Facts, Policy, Situation, Verdict, decide, judge};
use sanare_core::port::{Clock, Store, StoreFault};
use sanare_core::proposal::Tier;
use sanare_engine::recorded::Recorded;
use serde::{Deserialize, Serialize};

use crate::operations::show::{self, Show};
use crate::wire::clock::SystemClock;
use crate::wire::{home, policy, settings};

/// Why nothing can be explained.
#[derive(Debug, thiserror::Error)]
pub enum Explain {
    /// No such incident.
    #[error(transparent)]
    Show(#[from] Show),
    /// The incident has no candidate to decide on.
    #[error("incident `{0}` has no candidate: there was nothing to decide")]
    NothingDecided(String),
    /// The settings are broken.
    #[error("the settings are broken: {0}")]
    Settings(String),
    /// A file of cases is wrong.
    #[error("{0}")]
    Cases(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// A decision, rule by rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// What is decided.
    pub verdict: Verdict,
    /// Every rule, those that fired first.
    pub rules: Vec<Line>,
    /// What would have to differ for it to be permitted.
    pub to_permit: Vec<String>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Its id.
    pub rule: String,
    /// What it says, if it fired.
    pub verdict: Option<Verdict>,
    /// The values that made it.
    pub because: String,
}

/// The project's policy as it is now.
///
/// # Errors
/// [`Explain::Settings`].
pub fn current(project_root: &Path) -> Result<Policy, Explain> {
    match settings::settings(project_root, &[]) {
        Ok(settings) => Ok(policy::policy(project_root, &settings, SystemClock::new().now())),
        Err(troubles) => {
            let words: Vec<String> = troubles.iter().map(ToString::to_string).collect();
            Err(Explain::Settings(words.join("; ")))
        }
    }
}

/// Decides on an incident's last candidate again, now, and says why.
///
/// # Errors
/// [`Explain`].
pub fn explain(store: &dyn Store, project_root: &Path, given: &str) -> Result<Explained, Explain> {
    let id = show::find(store, given)?;
    let recorded = Recorded::read(&store.records(&id)?).ok_or_else(|| Explain::NothingDecided(id.to_string()))?;
    let policy = current(project_root)?;
    let stopped = home::stop_path(project_root).exists();
    let decision = again(&recorded, &policy, SystemClock::new().now(), stopped);
    Ok(explained(&decision, &policy))
}

fn again(recorded: &Recorded, policy: &Policy, now: u64, stopped: bool) -> Decision {
    let situation = recorded.situation(policy, now, stopped);
    match &recorded.report {
        Some(report) => decide(&situation, report),
        None => judge(&situation),
    }
}

fn explained(decision: &Decision, policy: &Policy) -> Explained {
    let mut rules: Vec<Line> = decision
        .fired
        .iter()
        .map(|fired| Line { rule: fired.rule.clone(), verdict: Some(fired.verdict), because: fired.because.clone() })
        .collect();
    let own = policy.file().map(|file| file.rules.iter().map(|rule| rule.id.as_str()).collect::<Vec<_>>());
    let known = BUILT_IN.iter().map(|(id, _)| *id).chain(own.unwrap_or_default());
    for id in known {
        if !rules.iter().any(|line| line.rule == id) {
            rules.push(Line { rule: id.to_owned(), verdict: None, because: String::new() });
        }
    }
    let blocking = decision.fired.iter().filter(|fired| fired.verdict > Verdict::Permit);
    let to_permit = blocking
        .map(|fired| {
            let advice = BUILT_IN.iter().find(|(id, _)| *id == fired.rule).map(|(_, advice)| *advice);
            format!("{}: {}", fired.rule, advice.unwrap_or("a rule of the policy file; its conditions must not hold"))
        })
        .collect();
    Explained { verdict: decision.verdict, rules, to_permit }
}

/// A made-up case and what is expected of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Case {
    name: String,
    proposer: String,
    tier: String,
    mode: String,
    application: String,
    kind: String,
    path: String,
    function: String,
    environment: String,
    confidence: Option<f64>,
    changed_lines: Option<f64>,
    /// Milliseconds since 1970.
    at: u64,
    stopped: bool,
    unverified: bool,
    gates: std::collections::BTreeMap<String, String>,
    oracle: bool,
    verdict: String,
    rules: Vec<String>,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            name: String::new(),
            proposer: "drift".to_owned(),
            tier: "A".to_owned(),
            mode: "auto".to_owned(),
            application: String::new(),
            kind: "drift".to_owned(),
            path: "job.py".to_owned(),
            function: "load".to_owned(),
            environment: String::new(),
            confidence: None,
            changed_lines: None,
            at: 1_704_110_400_000,
            stopped: false,
            unverified: false,
            gates: std::collections::BTreeMap::new(),
            oracle: false,
            verdict: String::new(),
            rules: Vec::new(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    #[serde(rename = "case", default)]
    cases: Vec<Case>,
}

/// What a file of cases came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tested {
    /// How many cases.
    pub cases: usize,
    /// One line for each that went otherwise.
    pub differences: Vec<String>,
}

/// The same of a service's decision.
pub fn of_service(decision: &Decision, rules: &[sanare_core::service::policy::Explained]) -> Explained {
    // The strictest first; those that do not fire last.
    let mut rules: Vec<&sanare_core::service::policy::Explained> = rules.iter().collect();
    rules.sort_by_key(|one| std::cmp::Reverse(one.verdict));
    let line = |one: &sanare_core::service::policy::Explained| Line {
        rule: one.rule.clone(),
        verdict: one.verdict,
        because: one.because.clone(),
    };
    let blocking = rules.iter().filter(|one| one.verdict.is_some_and(|verdict| verdict > Verdict::Permit));
    Explained {
        verdict: decision.verdict,
        rules: rules.iter().copied().map(line).collect(),
        to_permit: blocking.map(|one| format!("{}: {}", one.rule, one.lifts)).collect(),
    }
}

/// A case of a service that somebody makes up: what stands in the text replaces what is so in a sound one.
///
/// # Errors
/// What is wrong with it, with its line.
pub fn service_case(text: &str) -> Result<sanare_core::service::policy::Case, String> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text.get(..span.start).unwrap_or(text).matches('\n').count() + 1);
        format!("line {line}: {}", error.message())
    })
}

/// Whether a file of cases is of services: then what is put in stands in a table `given`.
pub fn are_of_services(text: &str) -> bool {
    let file = toml::from_str::<toml::Table>(text).ok();
    let cases = file.as_ref().and_then(|file| file.get("case")?.as_array());
    cases.is_some_and(|cases| cases.iter().any(|case| case.get("given").is_some()))
}

/// Runs a file of cases of services under a policy.
///
/// # Errors
/// [`Explain::Cases`] names the line of what is wrong with the file.
pub fn test_services(policy: &Policy, text: &str) -> Result<Tested, Explain> {
    let (cases, differences) = sanare_core::service::policy::cases::run(text, policy).map_err(Explain::Cases)?;
    let told = differences.iter().map(|one| {
        let name = if one.name.is_empty() { format!("line {}", one.line) } else { one.name.clone() };
        format!("{name}: expected {}, got {} (line {})", one.expected, one.got, one.line)
    });
    Ok(Tested { cases, differences: told.collect() })
}

/// Runs a file of cases (`[[case]]`, what is given and the expected `verdict` and `rules`) under a policy.
///
/// # Errors
/// [`Explain::Cases`] names the line of what is wrong with the file.
pub fn test(policy: &Policy, text: &str) -> Result<Tested, Explain> {
    let cases: Cases = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text.get(..span.start).unwrap_or(text).matches('\n').count() + 1);
        Explain::Cases(format!("line {line}: {}", error.message()))
    })?;
    if cases.cases.is_empty() {
        return Err(Explain::Cases("line 1: the file has no case".to_owned()));
    }
    let mut differences = Vec::new();
    for (number, case) in cases.cases.iter().enumerate() {
        let decision = decided(case, policy).map_err(|what| {
            let line = line_of_case(text, number);
            Explain::Cases(format!("line {line}: {what}"))
        })?;
        let verdict = word(decision.verdict);
        let mut rules: Vec<&String> = decision.fired.iter().map(|fired| &fired.rule).collect();
        rules.dedup();
        let missing = case.rules.iter().find(|rule| !rules.contains(rule));
        if verdict != case.verdict || missing.is_some() {
            let name = if case.name.is_empty() { format!("case {}", number + 1) } else { case.name.clone() };
            let fired: Vec<&str> = rules.iter().map(|rule| rule.as_str()).collect();
            let missing = missing.map(|rule| format!(", `{rule}` did not fire")).unwrap_or_default();
            let wanted = &case.verdict;
            differences.push(format!("{name}: expected {wanted}, got {verdict} ({}){missing}", fired.join(", ")));
        }
    }
    Ok(Tested { cases: cases.cases.len(), differences })
}

fn line_of_case(text: &str, number: usize) -> usize {
    let mut heads = text.lines().enumerate().filter(|(_, line)| line.trim() == "[[case]]");
    heads.nth(number).map_or(1, |(line, _)| line + 1)
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Permit => "permit",
        Verdict::Ask => "ask",
        Verdict::Refuse => "refuse",
    }
}

fn decided(case: &Case, policy: &Policy) -> Result<Decision, String> {
    let read = |word: &str, what: &str| -> Result<serde_json::Value, String> {
        if word.is_empty() { Err(format!("`{what}` is missing")) } else { Ok(word.into()) }
    };
    fn typed<T: serde::de::DeserializeOwned>(word: serde_json::Value, what: &str) -> Result<T, String> {
        let shown = word.to_string();
        serde_json::from_value(word).map_err(|_| format!("{shown} is no {what}"))
    }
    let mode: Mode = typed(read(&case.mode, "mode")?, "mode")?;
    let proposer: ProposerName = typed(read(&case.proposer, "proposer")?, "proposer")?;
    let tier: Tier = typed(read(&case.tier, "tier")?, "tier")?;
    let _: Verdict = typed(read(&case.verdict, "verdict")?, "verdict")?;
    let own = policy.file().map(|file| file.rules.iter().map(|rule| rule.id.as_str()).collect::<Vec<_>>());
    let own = own.unwrap_or_default();
    for rule in &case.rules {
        if !own.contains(&rule.as_str()) && !BUILT_IN.iter().any(|(id, _)| id == rule) {
            return Err(format!("there is no rule `{rule}`"));
        }
    }
    let mut report = GateReport::default();
    for gate in Gate::ALL {
        let said = case.gates.get(gate.word()).map_or(if gate == Gate::Verify { "" } else { "passed" }, String::as_str);
        report.checks.extend(match said {
            "" => None,
            "passed" => Some(Check::passed(gate, "case")),
            "failed" => Some(Check::failed(gate, "case", "as the case says")),
            "skipped" => Some(Check::skipped(gate, "case", "as the case says")),
            other => return Err(format!("`{other}` is no answer of a gate")),
        });
    }
    if let Some(odd) = case.gates.keys().find(|name| !Gate::ALL.iter().any(|gate| gate.word() == name.as_str())) {
        return Err(format!("there is no gate `{odd}`"));
    }
    if case.oracle {
        report.checks.push(Check::passed(Gate::Replay, "examples"));
    }
    let rules = Rules { mode, unverified: case.unverified, ..Rules::default() };
    let mut facts = Facts { now: case.at, offsets: policy.offsets.clone(), ..Facts::default() };
    for (name, word) in [
        ("application", &case.application),
        ("kind", &case.kind),
        ("path", &case.path),
        ("function", &case.function),
        ("environment", &case.environment),
        ("proposer", &case.proposer),
        ("tier", &case.tier),
        ("mode", &case.mode),
    ] {
        facts.words.insert(name, vec![word.clone()]);
    }
    facts.numbers.extend(case.confidence.map(|number| ("confidence", number)));
    facts.numbers.extend(case.changed_lines.map(|number| ("changed_lines", number)));
    let situation =
        Situation { rules: &rules, proposer, tier, stopped: case.stopped, policy, facts, declined: Vec::new() };
    Ok(decide(&situation, &report))
}

/// Past decisions that would go otherwise under a policy, one line each, and how many were looked at.
///
/// # Errors
/// [`Explain::Cases`] when nothing was decided in that time, [`Explain::Store`].
pub fn history(store: &dyn Store, policy: &Policy, since: u64) -> Result<Tested, Explain> {
    let mut tested = Tested { cases: 0, differences: Vec::new() };
    for id in store.incidents(usize::MAX)? {
        let records = store.records(&id)?;
        let Some(decided) = records.iter().rev().find(|record| matches!(record.step.as_str(), "judged" | "waiting"))
        else {
            continue;
        };
        let (true, Some(recorded)) = (decided.at >= since, Recorded::read(&records)) else { continue };
        tested.cases += 1;
        let waited = decided.step == "waiting";
        let was = match (waited, records.iter().any(|record| record.step == "approved")) {
            (true, _) => Verdict::Ask,
            (false, true) => Verdict::Permit,
            (false, false) => Verdict::Refuse,
        };
        let now = again(&recorded, policy, decided.at, false);
        if now.verdict != was {
            let (was, is) = (word(was), word(now.verdict));
            tested.differences.push(format!("{id}: was {was}, would be {is} ({})", now.rules.join(", ")));
        }
    }
    match tested.cases {
        0 => Err(Explain::Cases("nothing was decided in that time".to_owned())),
        _ => Ok(tested),
    }
}
