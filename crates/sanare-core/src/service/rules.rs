//! The rules agent: deterministic, offline, the default and the safety net (S59). Its rules are data.

mod file;
#[cfg(test)]
mod tests;

use super::action::Action;
use super::attempt::{Attempt, tried};
use super::confidence::UNFOUNDED;
use super::context::Context;
use super::diagnosis::{AgentFailure, AgentName, Diagnosis};
use super::incident::Incident;
use super::kind::IncidentKind;
use super::moment::Moment;
use super::observation::Observation;
use super::port::{Agent, AgentCall};
use super::proposal::{Advice, AgentResult};
use super::text::Text;
use super::word::Origin;
use crate::id::Id;
use file::{File, Rule};

/// Readings that it cites, at most.
const CITED: usize = 8;

/// The rules agent.
#[derive(Clone, Copy, Debug, Default)]
pub struct RulesAgent;

/// What the rules go by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Facts {
    changed: bool,
    disk: bool,
    registry_right: bool,
}

/// A rule's choice; `rule` is `None` where none applies.
#[derive(Clone, Copy, Debug)]
struct Choice {
    rule: Option<&'static Rule>,
    action: Option<Action>,
}

impl Agent for RulesAgent {
    fn diagnose(&self, context: &Context, call: &AgentCall) -> Result<AgentResult, AgentFailure> {
        Ok(self.answer(context, call.diagnosis_id.clone(), call.now))
    }
}

impl RulesAgent {
    /// What the rules say; there is always an answer.
    pub fn answer(self, context: &Context, id: Id, now: Moment) -> AgentResult {
        let facts = Facts::of(context);
        let incident = &context.incident;
        let choice = choose(file::shipped(), incident.kind, facts, &context.available_actions, &incident.attempts);
        let cited = citations(context);
        let reported = choice.rule.map_or(UNFOUNDED, |rule| rule.confidence);
        let confidence = if cited.is_empty() || choice.rule.is_none() { reported.min(UNFOUNDED) } else { reported };
        let sentence = choice.rule.map_or("no rule has anything left to propose", |rule| rule.cause.as_str());
        let diagnosis = Diagnosis {
            id,
            incident_id: incident.id.clone(),
            origin: Origin::Rules,
            agent: AgentName::Rule {
                id: choice.rule.map_or_else(|| "nothing_left".to_owned(), |rule| rule.id.clone()),
                version: file::shipped().version,
            },
            failure: None,
            summary: summary(incident, context, sentence),
            confidence_reported: reported,
            confidence,
            confidence_measured: None,
            probable_cause: choice.rule.map(|rule| Text::of(&rule.cause)),
            evidence_used: cited,
            alternatives: Vec::new(),
            missing_information: missing(context, choice.rule.is_none()),
            evidence_digest: context.digest(),
            at: now,
        };
        let advice = choice.action.map(|action| Advice {
            action,
            rationale: Text::of(&format!("{sentence}: {}", action.guide().does)),
            expected_outcome: Text::of(choice.rule.map_or("a person looks at it", |rule| rule.expected.as_str())),
        });
        AgentResult { diagnosis, advice }
    }
}

/// The highest confidence with which a rule proposes an action, and for which kind; nothing where none does.
pub fn surest(action: Action) -> Option<(IncidentKind, f64)> {
    let fits = file::shipped().rules.iter().filter(|rule| rule.action == Some(action));
    fits.map(|rule| (rule.kind, rule.confidence)).max_by(|one, other| one.1.total_cmp(&other.1))
}

impl Facts {
    fn of(context: &Context) -> Self {
        Self {
            changed: context.changed(),
            disk: context.evidence.iter().any(is_disk),
            registry_right: context.registry_right(),
        }
    }

    fn fit(self, rule: &Rule) -> bool {
        let holds = |wanted: Option<bool>, is: bool| wanted.is_none_or(|wanted| wanted == is);
        holds(rule.when.changed, self.changed)
            && holds(rule.when.disk, self.disk)
            && holds(rule.when.registry_right, self.registry_right)
    }
}

/// Whether a reading is about disk space: by its label `resource`, else by a word of its name.
fn is_disk(seen: &Observation) -> bool {
    const WORDS: [&str; 4] = ["disk", "filesystem", "fs", "volume"];
    match seen.labels.get("resource") {
        Some(label) => label == "disk",
        None => {
            seen.signal.as_str().split(|symbol: char| !symbol.is_ascii_alphanumeric()).any(|word| WORDS.contains(&word))
        }
    }
}

fn choose(file: &'static File, kind: IncidentKind, facts: Facts, available: &[Action], attempts: &[Attempt]) -> Choice {
    let times = |action: Action| attempts.iter().filter(|one| one.action == action).count();
    let fits = |rule: &&Rule| {
        let Some(action) = rule.action else { return true };
        let once = match action {
            // What may come again is told by what is offered: the engine leaves out what is spent.
            Action::NoAction => times(action) < rule.waits.unwrap_or(super::attempt::WAITS),
            Action::RunDiagnostic => times(action) < 1,
            Action::Escalate => true,
            application => !tried(application, attempts),
        };
        available.contains(&action) && once
    };
    let rule = file.rules.iter().find(|rule| rule.kind == kind && facts.fit(rule) && fits(rule));
    match rule {
        Some(rule) => Choice { rule: Some(rule), action: rule.action },
        // Without an offer to escalate there is no proposal, and the engine escalates by itself.
        None => Choice { rule: None, action: Some(Action::Escalate).filter(|action| available.contains(action)) },
    }
}

/// First, worst and newest readings of the evidence.
fn citations(context: &Context) -> Vec<Id> {
    let all = &context.incident.evidence;
    let sent = |id: &Id| context.evidence.iter().any(|seen| seen.id == *id);
    let mut cited: Vec<Id> = Vec::new();
    let mut cite = |id: &Id| {
        if cited.len() < CITED && sent(id) && !cited.contains(id) {
            cited.push(id.clone());
        }
    };
    all.first().into_iter().for_each(|evidence| cite(&evidence.observation));
    context
        .incident
        .worst()
        .and_then(|place| all.get(place))
        .into_iter()
        .for_each(|evidence| cite(&evidence.observation));
    all.iter().rev().for_each(|evidence| cite(&evidence.observation));
    context.evidence.iter().rev().for_each(|seen| cite(&seen.id));
    cited
}

/// Composed from fields: names that were checked, and sentences of ours.
fn summary(incident: &Incident, context: &Context, sentence: &str) -> Text {
    let worst = incident.worst().and_then(|place| incident.evidence.get(place));
    let reading = worst.and_then(|evidence| context.evidence.iter().find(|seen| seen.id == evidence.observation));
    let shown = reading.and_then(|seen| Some(format!(" ({} {})", seen.signal, seen.value.number()?)));
    let place = format!("{}/{}", incident.application, incident.component);
    Text::of(&format!("{} of {place}{}: {sentence}", incident.kind, shown.unwrap_or_default()))
}

/// What would have helped to know.
fn missing(context: &Context, nothing_left: bool) -> Vec<Text> {
    let mut missing: Vec<&str> = Vec::new();
    if context.version_history.is_empty() {
        missing.push("which version was live when");
    }
    if context.evidence.is_empty() {
        missing.push("readings that show the symptom");
    }
    if nothing_left {
        missing.push("what else could be wrong: every rule for this kind was used or does not apply");
    }
    missing.into_iter().map(Text::of).collect()
}
