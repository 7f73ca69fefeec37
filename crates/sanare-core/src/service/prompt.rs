//! What a model is sent of an incident: abstracted, bounded, between two marked lines (S60 to S65).

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::context::Context;
use super::incident::Incident;
use super::moment::Moment;
use super::observation::Observation;
use super::value::ObservedValue;
use super::word::Trust;
use crate::id::Id;
use crate::model::escape::prompt_json;
use crate::model::prompt::Prompt;
use crate::model::request::{Request, marks};

/// Readings of evidence, and recent ones, at most.
const READINGS: usize = 20;
/// Attempts, at most.
const ATTEMPTS: usize = 10;
/// Outputs of diagnostics, at most.
const DIAGNOSTICS: usize = 5;
/// Spans of the version history, at most.
const SPANS: usize = 10;
/// Bytes of the user message, at most.
pub const SIZE: usize = 32 * 1024;

/// How text that came from outside is shown to a model (S63).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Telemetry {
    /// As a token with its length, unless it equals one of these configured words.
    Abstracted(BTreeSet<String>),
    /// Cleaned and redacted, as the owner chose for the application.
    Redacted,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self::Abstracted(BTreeSet::new())
    }
}

/// A question to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// System text and user message.
    pub request: Request,
    /// The observation behind each handle: `r1` is the first.
    pub readings: Vec<Id>,
}

/// What may still be left out to fit.
struct Room {
    evidence: usize,
    recent: usize,
    attempts: usize,
    diagnostics: usize,
    spans: usize,
}

/// Puts a question together. What does not fit is left out by rule and told in numbers.
pub fn compose(context: &Context, prompt: &Prompt, nonce: &str, telemetry: &Telemetry, house_rules: &str) -> Question {
    let system = prompt.system(nonce, &crate::redact::Redactor::standard().text(house_rules).into_inner());
    let (opening, closing) = marks(nonce);
    let mut room =
        Room { evidence: READINGS, recent: READINGS, attempts: ATTEMPTS, diagnostics: DIAGNOSTICS, spans: SPANS };
    loop {
        let (block, readings, left_out) = block(context, telemetry, &room);
        let user = format!("{opening}\n{}\n{closing}\n", prompt_json(&block));
        // With nothing left to leave out the message is far below the bound.
        if user.len() <= SIZE || !room.shrink() {
            let handles = (1..=readings.len()).map(|number| format!("r{number}")).collect();
            return Question { request: Request { system, user, handles, left_out }, readings };
        }
    }
}

impl Room {
    /// Leaves out one thing more, what is dearest for its worth first; `false` when nothing is left.
    fn shrink(&mut self) -> bool {
        let place = if self.diagnostics > 1 {
            &mut self.diagnostics
        } else if self.recent > 3 {
            &mut self.recent
        } else if self.spans > 2 {
            &mut self.spans
        } else if self.attempts > 3 {
            &mut self.attempts
        } else if self.evidence > 3 {
            &mut self.evidence
        } else {
            &mut self.diagnostics
        };
        let more = *place > 0;
        *place = place.saturating_sub(1);
        more
    }
}

fn block(context: &Context, telemetry: &Telemetry, room: &Room) -> (Json, Vec<Id>, Vec<String>) {
    let incident = &context.incident;
    let mut shown = Shown { context, telemetry, readings: Vec::new() };
    let mut left_out = Vec::new();
    let evidence = pick(incident, &context.evidence, room.evidence);
    note(&mut left_out, "readings of evidence", context.evidence.len(), evidence.len());
    let evidence: Vec<Json> = evidence.into_iter().map(|seen| shown.reading(seen)).collect();
    let recent: Vec<&Observation> =
        context.recent_observations.iter().filter(|seen| !shown.readings.contains(&seen.id)).collect();
    let skip = recent.len().saturating_sub(room.recent);
    note(&mut left_out, "recent readings", recent.len(), recent.len() - skip);
    let recent: Vec<Json> = recent.into_iter().skip(skip).map(|seen| shown.reading(seen)).collect();

    let skip = incident.attempts.len().saturating_sub(room.attempts);
    note(&mut left_out, "attempts", incident.attempts.len(), incident.attempts.len() - skip);
    let attempts: Vec<Json> = incident
        .attempts
        .iter()
        .skip(skip)
        .map(
            |one| json!({ "action": one.action, "outcome": one.outcome, "effect": one.effect, "summary": one.summary }),
        )
        .collect();
    let skip = context.diagnostics.len().saturating_sub(room.diagnostics);
    note(&mut left_out, "outputs of diagnostics", context.diagnostics.len(), context.diagnostics.len() - skip);
    let diagnostics: Vec<Json> = context
        .diagnostics
        .iter()
        .skip(skip)
        .map(|one| json!({ "name": one.name, "succeeded": one.succeeded, "output": one.output, "age_s": age(context, one.at) }))
        .collect();
    let skip = context.version_history.len().saturating_sub(room.spans);
    note(&mut left_out, "versions", context.version_history.len(), context.version_history.len() - skip);
    let versions: Vec<Json> = context
        .version_history
        .iter()
        .skip(skip)
        .map(|span| {
            json!({ "version": span.version, "live_since_s": age(context, span.from), "until_s": span.to.map(|to| age(context, to)),
                "moved_by": span.moved_by, "standing": span.standing })
        })
        .collect();

    let guide: Map<String, Json> = context
        .available_actions
        .iter()
        .map(|action| {
            let line = action.guide();
            (action.word().to_owned(), json!(format!("{}; {}; {}", line.does, line.does_not, line.undo)))
        })
        .collect();
    let mut map = Map::new();
    map.insert(
        "incident".to_owned(),
        json!({ "kind": incident.kind, "severity": incident.severity, "condition": incident.condition,
            "summary": incident.summary, "open_for_s": age(context, incident.opened), "evidence": evidence }),
    );
    map.insert("allowed_actions".to_owned(), json!(context.available_actions));
    map.insert("action_guide".to_owned(), Json::Object(guide));
    map.insert("previous_attempts".to_owned(), json!(attempts));
    map.insert("recent_readings".to_owned(), json!(recent));
    if !diagnostics.is_empty() {
        map.insert("diagnostics".to_owned(), json!(diagnostics));
    }
    if !versions.is_empty() {
        map.insert("version_history".to_owned(), json!(versions));
    }
    if let Some(view) = &context.registry {
        map.insert("registry".to_owned(), json!(view));
    }
    map.insert("not_available_to_you".to_owned(), json!(context.not_supplied()));
    if !left_out.is_empty() {
        map.insert("left_out".to_owned(), json!(left_out));
    }
    (Json::Object(map), shown.readings, left_out)
}

fn note(left_out: &mut Vec<String>, what: &str, all: usize, sent: usize) {
    if sent < all {
        left_out.push(format!("{what}: {sent} of {all}"));
    }
}

/// Seconds before the context was frozen.
fn age(context: &Context, at: Moment) -> u64 {
    context.at.since(at) / super::moment::SECOND
}

/// The first, the worst and the newest of the evidence, in its order.
fn pick<'a>(incident: &Incident, all: &'a [Observation], most: usize) -> Vec<&'a Observation> {
    let worst = incident.worst().and_then(|place| incident.evidence.get(place)).map(|evidence| &evidence.observation);
    let worst = all.iter().position(|seen| Some(&seen.id) == worst);
    let wanted = (!all.is_empty()).then_some(0).into_iter().chain(worst).chain((0..all.len()).rev());
    let mut places: BTreeSet<usize> = BTreeSet::new();
    for place in wanted {
        if places.len() < most {
            places.insert(place);
        }
    }
    places.into_iter().filter_map(|place| all.get(place)).collect()
}

struct Shown<'a> {
    context: &'a Context,
    telemetry: &'a Telemetry,
    readings: Vec<Id>,
}

impl Shown<'_> {
    fn reading(&mut self, seen: &Observation) -> Json {
        self.readings.push(seen.id.clone());
        let outside = seen.trust == Trust::Outside;
        json!({
            "handle": format!("r{}", self.readings.len()),
            "name": self.text(seen.signal.as_str(), outside),
            "kind": seen.kind(),
            "value": self.value(&seen.value, outside),
            "age_s": age(self.context, seen.event_time),
            "flags": seen.flags,
        })
    }

    fn value(&self, value: &ObservedValue, outside: bool) -> Json {
        match value {
            ObservedValue::Metric(number) | ObservedValue::Resource(number) => json!(number),
            ObservedValue::Health { status, detail } => {
                let detail = detail.as_ref().map(|detail| self.text(detail.as_str(), outside));
                json!({ "status": status, "detail": detail })
            }
            // Text of a line is for people: a model is told how many there were.
            ObservedValue::LogSignal(counted) => json!(counted.count),
            ObservedValue::PredictionQuality(quality) => json!({ "value": quality.value, "samples": quality.samples }),
            ObservedValue::Drift(profile) => json!({ "rows": profile.rows, "columns": profile.columns.len() }),
            ObservedValue::Deployment { before, after } => {
                let before = before.as_ref().map(|version| self.text(version.as_str(), outside));
                json!({ "before": before, "after": self.text(after.as_str(), outside) })
            }
        }
    }

    /// A text of ours as it is; one from outside as a token with its length, unless it is a configured word.
    fn text(&self, text: &str, outside: bool) -> String {
        match self.telemetry {
            Telemetry::Abstracted(known) if outside && !known.contains(text) => {
                format!("text of {} characters", text.chars().count())
            }
            _ => super::text::Text::<300>::of(text).to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
