//! Reading a reply: one object of nine keys, strictly, in bounded time and memory, with one kind of rejection (C74, S66).

mod strict;

use serde_json::{Map, Value as Json};

use crate::model::escape::plain_line;
use crate::redact::Redactor;

/// Bytes of a reply, at most.
pub const LIMIT: usize = 64 * 1024;
/// The highest confidence that a model is believed, and the highest without a citation.
const MOST: f64 = 0.9;
const UNCITED: f64 = 0.2;
const TEXT: usize = 300;
const LIST: usize = 8;

const KEYS: [&str; 9] = [
    "summary",
    "confidence",
    "probable_cause",
    "evidence_used",
    "alternatives",
    "missing_information",
    "candidate",
    "rationale",
    "expected_outcome",
];

/// A reply of the right form. Its texts are cleaned, redacted and cut; the candidate is as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// One sentence.
    pub summary: String,
    /// Capped.
    pub confidence: f64,
    /// As it was said.
    pub reported_confidence: f64,
    /// One sentence.
    pub probable_cause: Option<String>,
    /// Handles that were sent and are cited.
    pub evidence_used: Vec<String>,
    /// Other explanations.
    pub alternatives: Vec<String>,
    /// What the model would need to know.
    pub missing_information: Vec<String>,
    /// The function's new text, or an honest none.
    pub candidate: Option<String>,
    /// Why it is right.
    pub rationale: String,
    /// What the call does then.
    pub expected_outcome: String,
}

macro_rules! codes {
    ($($name:ident => $code:literal, $sentence:literal;)*) => {
        /// Which check a reply failed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $sentence] $name,)*
        }

        impl Code {
            /// All of them.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// Its word in records.
            pub fn word(self) -> &'static str {
                match self { $(Code::$name => $code,)* }
            }

            /// The fixed sentence, which holds nothing of the reply.
            pub fn sentence(self) -> &'static str {
                match self { $(Code::$name => $sentence,)* }
            }
        }
    };
}

codes! {
    TooLong => "too_long", "the reply is longer than 64 KiB";
    Empty => "empty", "the reply is empty";
    NotOneObject => "not_one_object", "the reply is not one JSON object, bare or in one fence";
    NotJson => "not_json", "the object is not valid JSON";
    TooDeep => "too_deep", "the object is nested too deeply";
    LongNumber => "long_number", "a number is longer than 64 characters";
    DuplicateKey => "duplicate_key", "a key stands twice in an object";
    UnknownKey => "unknown_key", "the object has a key that is none of the nine";
    MissingKey => "missing_key", "one of the keys `summary`, `confidence`, `candidate` is missing";
    Summary => "summary", "`summary` is not a text, or is blank";
    Confidence => "confidence", "`confidence` is not a number from 0 to 1";
    ProbableCause => "probable_cause", "`probable_cause` is neither null nor a text that is not blank";
    EvidenceUsed => "evidence_used", "`evidence_used` is not a list of texts";
    UnknownHandle => "unknown_handle", "`evidence_used` names a handle that was not sent";
    List => "list", "`alternatives` or `missing_information` is not a list of texts";
    Candidate => "candidate", "`candidate` is neither null nor a text that is not blank";
    Rationale => "rationale", "with a candidate, `rationale` and `expected_outcome` are texts that are not blank";
    Diagnosis => "diagnosis", "the diagnosis breaks a rule of its own";
    Action => "action", "`action` is neither null nor one of the eight actions";
    NotOffered => "not_offered", "`action` is none of `allowed_actions`";
    Tried => "tried", "`action` was tried in this incident";
    Closing => "closing", "with an action, `rationale` and `expected_outcome` are texts that are not blank";
    WithoutCause => "without_cause", "without a `probable_cause` only `escalate` or `no_action` can be answered";
    CutOff => "cut_off", "the reply was cut off at the limit of tokens";
}

/// The one rejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .code.sentence())]
pub struct InvalidReply {
    /// The check that failed.
    pub code: Code,
}

impl From<Code> for InvalidReply {
    fn from(code: Code) -> Self {
        Self { code }
    }
}

/// Reads a reply to a request in which these handles were sent.
///
/// # Errors
/// [`InvalidReply`], whatever is wrong with it.
pub fn read(reply: &[u8], handles: &[String]) -> Result<Reply, InvalidReply> {
    check(&object(reply)?, handles)
}

/// The one object that a reply is, whatever its keys.
pub(crate) fn object(reply: &[u8]) -> Result<Map<String, Json>, Code> {
    if reply.len() > LIMIT {
        return Err(Code::TooLong);
    }
    let text = std::str::from_utf8(reply).map_err(|_| Code::NotJson)?;
    strict::object(one_object(text)?)
}

/// The text of the one object: bare, or in the one fence.
fn one_object(text: &str) -> Result<&str, Code> {
    let text = text.trim().trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err(Code::Empty);
    }
    if text.starts_with('{') {
        return Ok(text);
    }
    // A line of a JSON text cannot begin with a fence unless the fence stands outside it: strings hold no line break.
    let mut fences = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            fences.push((offset, offset + line.len()));
        }
        offset += line.len();
    }
    let [(_, start), (end, _)] = fences.as_slice() else { return Err(Code::NotOneObject) };
    let inner = text.get(*start..*end).unwrap_or_default().trim();
    if inner.starts_with('{') { Ok(inner) } else { Err(Code::NotOneObject) }
}

fn check(object: &Map<String, Json>, handles: &[String]) -> Result<Reply, InvalidReply> {
    if object.keys().any(|key| !KEYS.contains(&key.as_str())) {
        return Err(Code::UnknownKey.into());
    }
    if ["summary", "confidence", "candidate"].iter().any(|key| !object.contains_key(*key)) {
        return Err(Code::MissingKey.into());
    }
    let get = |key: &str| object.get(key).unwrap_or(&Json::Null);
    let summary = written(get("summary")).ok_or(Code::Summary)?;
    let reported = get("confidence").as_f64().filter(|number| (0.0..=1.0).contains(number)).ok_or(Code::Confidence)?;
    let probable_cause = match get("probable_cause") {
        Json::Null => None,
        other => Some(written(other).ok_or(Code::ProbableCause)?),
    };
    let cited = texts(get("evidence_used")).ok_or(Code::EvidenceUsed)?;
    if cited.iter().any(|name| !handles.iter().any(|handle| handle == name)) {
        return Err(Code::UnknownHandle.into());
    }
    let list = |key: &str| -> Result<Vec<String>, Code> {
        let found = texts(get(key)).ok_or(Code::List)?;
        Ok(found.into_iter().take(LIST).map(clean).filter(|text| !text.is_empty()).collect())
    };
    let (alternatives, missing_information) = (list("alternatives")?, list("missing_information")?);
    let candidate = match get("candidate") {
        Json::Null => None,
        Json::String(text) if !text.trim().is_empty() => Some(text.clone()),
        _ => return Err(Code::Candidate.into()),
    };
    let closing = |key: &str| -> Result<String, Code> {
        match get(key) {
            Json::Null if candidate.is_none() => Ok(String::new()),
            other => written(other).ok_or(Code::Rationale),
        }
    };
    let (rationale, expected_outcome) = (closing("rationale")?, closing("expected_outcome")?);
    let most = if cited.is_empty() || probable_cause.is_none() { UNCITED } else { MOST };
    let mut evidence_used: Vec<String> = cited.iter().take(LIST).map(|name| (*name).to_owned()).collect();
    evidence_used.dedup();
    Ok(Reply {
        summary,
        confidence: reported.min(most),
        reported_confidence: reported,
        probable_cause,
        evidence_used,
        alternatives,
        missing_information,
        candidate,
        rationale,
        expected_outcome,
    })
}

/// A cleaned text that is not blank.
fn written(value: &Json) -> Option<String> {
    value.as_str().map(clean).filter(|text| !text.is_empty())
}

pub(crate) fn texts(value: &Json) -> Option<Vec<&str>> {
    match value {
        Json::Null => Some(Vec::new()),
        Json::Array(items) => items.iter().map(Json::as_str).collect(),
        _ => None,
    }
}

fn clean(text: &str) -> String {
    // Both forms are redacted: one with hidden characters between its letters must not pass either (S61).
    let bounded: String = text.chars().take(TEXT * 8).collect();
    let line = plain_line(Redactor::standard().text(&bounded).as_str());
    Redactor::standard().text_cut(&line, TEXT).into_inner()
}

#[cfg(test)]
mod tests;
