//! Reading a model's diagnosis: strictly, check by check, with one kind of rejection (S66 to S69).

use serde_json::{Map, Value as Json};

use super::action::Action;
use super::attempt::tried;
use super::confidence::Caps;
use super::context::Context;
use super::diagnosis::{AgentName, Diagnosis, ENTRIES};
use super::moment::Moment;
use super::proposal::{Advice, AgentResult};
use super::text::Text;
use super::word::Origin;
use crate::id::Id;
use crate::model::reply::{Code, InvalidReply, object, texts};

pub(super) const KEYS: [&str; 9] = [
    "summary",
    "confidence",
    "probable_cause",
    "evidence_used",
    "alternatives",
    "missing_information",
    "action",
    "rationale",
    "expected_outcome",
];
/// Added where a reply has neither a cause nor says what it lacks.
const NOT_SAID: &str = "the model did not say what it would need to know";

/// What a reply is read against.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// What was frozen and sent.
    pub context: &'a Context,
    /// The observation behind each handle: `r1` is the first.
    pub readings: &'a [Id],
    /// The model and its prompt.
    pub agent: AgentName,
    /// The most that is believed.
    pub caps: Caps,
    /// Id of the diagnosis to be made.
    pub id: Id,
    /// Now.
    pub now: Moment,
}

/// Reads a reply.
///
/// # Errors
/// [`InvalidReply`] with the first check that it fails; nothing of the reply is in it.
pub fn read(reply: &[u8], asked: &Asked<'_>) -> Result<AgentResult, InvalidReply> {
    Ok(check(&object(reply)?, asked)?)
}

fn check(object: &Map<String, Json>, asked: &Asked<'_>) -> Result<AgentResult, Code> {
    if object.keys().any(|key| !KEYS.contains(&key.as_str())) {
        return Err(Code::UnknownKey);
    }
    let get = |key: &str| object.get(key).unwrap_or(&Json::Null);
    let summary = written(get("summary")).ok_or(Code::Summary)?;
    let reported = get("confidence").as_f64().filter(|number| (0.0..=1.0).contains(number)).ok_or(Code::Confidence)?;
    let probable_cause = match get("probable_cause") {
        Json::Null => None,
        other => Some(written(other).ok_or(Code::ProbableCause)?),
    };
    let evidence_used = cited(get("evidence_used"), asked.readings)?;
    let list = |key: &str| -> Result<Vec<Text>, Code> {
        let found = texts(get(key)).ok_or(Code::List)?;
        Ok(found.into_iter().take(ENTRIES).map(Text::of).filter(|text: &Text| !text.is_empty()).collect())
    };
    let (alternatives, mut missing_information) = (list("alternatives")?, list("missing_information")?);
    if probable_cause.is_none() && missing_information.is_empty() {
        missing_information.push(Text::of(NOT_SAID));
    }
    let diagnosis = Diagnosis {
        id: asked.id.clone(),
        incident_id: asked.context.incident.id.clone(),
        origin: Origin::Model,
        agent: asked.agent.clone(),
        failure: None,
        summary,
        confidence_reported: reported,
        confidence: asked.caps.cap(Origin::Model, reported, evidence_used.len(), probable_cause.is_some()),
        confidence_measured: None,
        probable_cause,
        evidence_used,
        alternatives,
        missing_information,
        evidence_digest: asked.context.digest(),
        at: asked.now,
    };
    let diagnosis = diagnosis.check().map_err(|_| Code::Diagnosis)?;
    let advice = match get("action") {
        Json::Null => None,
        Json::String(word) => Some(advice(word, &get, asked)?),
        _ => return Err(Code::Action),
    };
    let result = AgentResult { diagnosis, advice };
    result.check(&asked.context.incident.id, &asked.context.available_actions).map_err(|_| Code::WithoutCause)
}

fn advice<'a>(word: &str, get: &impl Fn(&str) -> &'a Json, asked: &Asked<'_>) -> Result<Advice, Code> {
    let action = Action::parse(word).map_err(|_| Code::Action)?;
    if !asked.context.available_actions.contains(&action) {
        return Err(Code::NotOffered);
    }
    if tried(action, asked.context.previous_attempts()) {
        return Err(Code::Tried);
    }
    let closing = |key: &str| written(get(key)).ok_or(Code::Closing);
    Ok(Advice { action, rationale: closing("rationale")?, expected_outcome: closing("expected_outcome")? })
}

/// Citations are handles that were sent, exactly; the first 8 are kept.
fn cited(value: &Json, readings: &[Id]) -> Result<Vec<Id>, Code> {
    let mut cited: Vec<Id> = Vec::new();
    for handle in texts(value).ok_or(Code::EvidenceUsed)? {
        // Compared as text: `r01`, `r+1` and `R1` are other texts than `r1`.
        let place = (1..=readings.len()).find(|number| *handle == format!("r{number}"));
        let id = place.and_then(|number| readings.get(number - 1)).ok_or(Code::UnknownHandle)?;
        if cited.len() < ENTRIES && !cited.contains(id) {
            cited.push(id.clone());
        }
    }
    Ok(cited)
}

fn written(value: &Json) -> Option<Text> {
    value.as_str().map(Text::of).filter(|text: &Text| !text.is_empty())
}

#[cfg(test)]
mod tests;
