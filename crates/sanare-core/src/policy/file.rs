//! The policy file: TOML, version 1, one for both halves (S93). Typed keys and rules, no expressions.
//!
//! What cannot be read, or holds anything that is not known, refuses everything: the last good text is not used instead.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::rule::{Facts, Rule, Written};
use super::{Fired, Verdict};
use crate::hash::Digest;
use crate::incident::Mode;
use crate::service::Action;

/// What the owner's file says, or that it cannot be read.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    file: Option<PolicyFile>,
    trouble: Option<String>,
    digest: Option<Digest>,
    /// What the owner calls the place where this runs, such as `production`.
    pub environment: String,
    /// Minutes east of UTC now, for each zone that the rules name.
    pub offsets: BTreeMap<String, i64>,
}

/// A file that was read.
#[derive(Clone, Debug, Default)]
pub struct PolicyFile {
    /// The mode, where the file gives one; the stricter of it and the settings' holds.
    pub mode: Option<Mode>,
    /// Who may approve, how many of them, how long a question stands.
    pub approvals: Approvals,
    /// The service half's numbers and lists.
    pub service: ServiceTable,
    /// Tables of single applications (for code: projects).
    pub applications: BTreeMap<String, ServiceTable>,
    /// The owner's rules.
    pub rules: Vec<Rule>,
}

/// `approvals` of the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Approvals {
    /// How long a question stands, as written (`30m`).
    pub expire: Option<String>,
    /// Accounts, or `group:NAME`. `None`: whoever may write the target. An empty list: nobody.
    pub approvers: Option<Vec<String>>,
    /// How many different persons, 1 or 2.
    pub count: Option<u32>,
}

/// Keys that the service half decides by, typed and checked here so that one parser serves both.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceTable {
    /// `observe`, `dry_run`, `ask`, `auto`.
    pub mode: Option<String>,
    /// Below it a person is asked.
    pub confidence_gate: Option<f64>,
    /// Verified attempts before `measured` counts.
    pub history_min: Option<u32>,
    /// Actions that always ask.
    pub always_ask: Option<Vec<String>>,
    /// Actions that no approval lifts.
    pub forbidden: Option<Vec<String>>,
    /// Attempts of one incident.
    pub attempts: Option<u32>,
    /// Rest between attempts.
    pub cooldown: Option<Cooldown>,
    /// Acts within windows.
    pub windows: Option<Windows>,
    /// How much at once.
    pub blast: Option<Blast>,
    /// As in the file's own.
    pub approvals: Option<Approvals>,
}

/// `cooldown` of the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cooldown {
    /// The first rest.
    pub first: Option<String>,
    /// By what it grows.
    pub factor: Option<f64>,
    /// The longest.
    pub max: Option<String>,
}

/// `windows` of the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Windows {
    /// On one target.
    pub target: Option<Count>,
    /// On one application.
    pub application: Option<Count>,
    /// In all.
    pub all: Option<Count>,
}

/// Acts an hour and a day.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Count {
    /// In an hour.
    pub hour: Option<u32>,
    /// In a day.
    pub day: Option<u32>,
}

/// `blast` of the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Blast {
    /// Share of instances at once, from 0 to 1.
    pub share: Option<f64>,
    /// Instances that always may.
    pub floor: Option<u32>,
    /// What more than the share, within the floor, gets.
    pub floor_verdict: Option<String>,
    /// Applications at once.
    pub applications_at_once: Option<u32>,
    /// Share that must stay healthy, from 0 to 1.
    pub min_healthy: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Top {
    version: u32,
    #[serde(default)]
    application: BTreeMap<String, ServiceTable>,
    #[serde(default)]
    rule: Vec<Written>,
    #[serde(flatten)]
    rest: toml::Table,
}

/// A model that fell back to rules is never surer than this (S69); a gate at or below it would be none.
const FALLBACK_CAP: f64 = 0.2;

impl Policy {
    /// No file is named: the built-in rules alone decide.
    pub fn none() -> Self {
        Self::default()
    }

    /// A file that cannot be read, and why.
    pub fn unreadable(why: impl Into<String>) -> Self {
        let why = why.into();
        Self { digest: Some(Digest::of(why.as_bytes())), trouble: Some(why), ..Self::default() }
    }

    /// Reads the text of a file; what is wrong with it is kept, and refuses everything.
    pub fn read(text: &str) -> Self {
        match PolicyFile::parse(text) {
            Ok(file) => Self { file: Some(file), digest: Some(Digest::of(text.as_bytes())), ..Self::default() },
            Err(why) => Self { digest: Some(Digest::of(text.as_bytes())), ..Self::unreadable(why) },
        }
    }

    /// Why it refuses everything, if it does.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// The file, if one was read.
    pub fn file(&self) -> Option<&PolicyFile> {
        self.file.as_ref()
    }

    /// Hash of the file: what an approval is bound to.
    pub fn digest(&self) -> Digest {
        self.digest.clone().unwrap_or_else(|| Digest::of(b""))
    }

    /// The mode for an application or project, where the file gives one.
    pub fn mode_for(&self, application: &str) -> Option<Mode> {
        let file = self.file.as_ref()?;
        let own = file.applications.get(application).and_then(|table| table.mode.as_deref()).and_then(mode);
        file.mode.into_iter().chain(own).max_by_key(|mode| strictness(*mode))
    }

    /// Zones whose clock the rules need.
    pub fn zones(&self) -> Vec<&str> {
        self.file.iter().flat_map(|file| &file.rules).filter_map(Rule::zone).collect()
    }

    /// The owner's rules that fire, with the values that made them.
    pub fn fired(&self, facts: &Facts) -> Vec<Fired> {
        let rules = self.file.iter().flat_map(|file| &file.rules);
        rules
            .filter_map(|rule| {
                let seen = rule.fires(facts)?;
                let because = if rule.reason.is_empty() { seen } else { format!("{} ({seen})", rule.reason) };
                Some(Fired { rule: rule.id.clone(), verdict: rule.verdict, because })
            })
            .collect()
    }
}

/// The stricter of two modes.
pub fn stricter(one: Mode, other: Mode) -> Mode {
    if strictness(one) >= strictness(other) { one } else { other }
}

fn strictness(mode: Mode) -> u8 {
    match mode {
        Mode::Auto => 0,
        Mode::Ask => 1,
        Mode::DryRun => 2,
        Mode::Observe => 3,
        Mode::Off => 4,
    }
}

fn mode(word: &str) -> Option<Mode> {
    match word {
        "auto" => Some(Mode::Auto),
        "ask" => Some(Mode::Ask),
        "dry_run" => Some(Mode::DryRun),
        "observe" => Some(Mode::Observe),
        _ => None,
    }
}

impl PolicyFile {
    /// Reads the text.
    ///
    /// # Errors
    /// What is wrong, with the line where the parser knows it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("the policy file is empty".to_owned());
        }
        let top: Top = toml::from_str(text).map_err(|error| at_line(text, &error))?;
        if top.version != 1 {
            return Err(format!("version {} is not known; this Sanare knows version 1", top.version));
        }
        let service: ServiceTable = top.rest.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        for (name, table) in top.application.iter().map(|(name, table)| (name.as_str(), table)).chain([("", &service)])
        {
            check(table).map_err(|what| match name {
                "" => what,
                name => format!("application `{name}`: {what}"),
            })?;
        }
        let mut rules: Vec<Rule> = Vec::new();
        for written in top.rule {
            let rule = Rule::accept(written)?;
            if rules.iter().any(|known| known.id == rule.id) {
                return Err(format!("two rules have the id `{}`", rule.id));
            }
            rules.push(rule);
        }
        Ok(Self {
            mode: service.mode.as_deref().and_then(mode),
            approvals: service.approvals.clone().unwrap_or_default(),
            service,
            applications: top.application,
            rules,
        })
    }
}

fn at_line(text: &str, error: &toml::de::Error) -> String {
    let message = error.message();
    match error.span() {
        Some(span) => {
            let line = text.get(..span.start).unwrap_or(text).matches('\n').count() + 1;
            format!("line {line}: {message}")
        }
        None => message.to_owned(),
    }
}

fn check(table: &ServiceTable) -> Result<(), String> {
    if let Some(word) = &table.mode
        && mode(word).is_none()
    {
        return Err(format!("`{word}` is no mode; one of observe, dry_run, ask, auto"));
    }
    if let Some(gate) = table.confidence_gate
        && !(gate > FALLBACK_CAP && gate <= 1.0)
    {
        return Err(format!("`confidence_gate` is {gate}; it must be above {FALLBACK_CAP} and at most 1"));
    }
    for (name, list) in [("always_ask", &table.always_ask), ("forbidden", &table.forbidden)] {
        let unknown = list.iter().flatten().find(|word| Action::parse(word).is_err());
        if let Some(word) = unknown {
            return Err(format!("`{name}` has `{word}`, which is no action"));
        }
    }
    if let Some(blast) = &table.blast {
        for (name, share) in [("blast.share", blast.share), ("blast.min_healthy", blast.min_healthy)] {
            if let Some(share) = share
                && !(0.0..=1.0).contains(&share)
            {
                return Err(format!("`{name}` is {share}; it is a share from 0 to 1"));
            }
        }
        if let Some(word) = &blast.floor_verdict
            && !matches!(word.as_str(), "ask" | "refuse")
        {
            return Err(format!("`blast.floor_verdict` is `{word}`; write ask or refuse"));
        }
    }
    if let Some(approvals) = &table.approvals {
        if let Some(count) = approvals.count
            && !(1..=2).contains(&count)
        {
            return Err(format!("`approvals.count` is {count}; it is 1 or 2"));
        }
        duration("approvals.expire", approvals.expire.as_deref())?;
    }
    if let Some(cooldown) = &table.cooldown {
        if let Some(factor) = cooldown.factor
            && !(1.0..=100.0).contains(&factor)
        {
            return Err(format!("`cooldown.factor` is {factor}; it goes from 1 to 100"));
        }
        duration("cooldown.first", cooldown.first.as_deref())?;
        duration("cooldown.max", cooldown.max.as_deref())?;
    }
    Ok(())
}

/// A duration such as `30m` in milliseconds.
pub fn milliseconds(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|symbol: char| symbol.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor).filter(|amount| *amount > 0)
}

fn duration(name: &str, text: Option<&str>) -> Result<(), String> {
    match text {
        Some(text) if milliseconds(text).is_none() => Err(format!("`{name}` is `{text}`; write such as \"30m\"")),
        _ => Ok(()),
    }
}

/// Strictest of the verdicts of these rules; [`Verdict::Permit`] when none fired.
pub fn strictest(fired: &[Fired]) -> Verdict {
    fired.iter().map(|fired| fired.verdict).max().unwrap_or(Verdict::Permit)
}
