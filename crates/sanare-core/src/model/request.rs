//! One request: the sections in fixed order, redacted, cut, escaped, inside one budget, between two marked lines
//! (C71 to C73).

mod parts;

use serde_json::{Map, Value as Json, json};

use crate::evidence::Evidence;
use crate::model::escape::prompt_json;
use crate::model::prompt::Prompt;
use crate::proposal::Declined;
use crate::redact::Redactor;

/// The one function, as the model is told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Qualified name.
    pub function: String,
    /// `function`, `async function`, `generator`, `async generator`.
    pub kind: String,
    /// Its header, from `def` to the colon.
    pub signature: String,
    /// Its file, relative to the project.
    pub file: String,
}

/// A candidate that was rejected before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// From 1.
    pub number: usize,
    /// A unified diff of the function; empty where the reply held no candidate.
    pub diff: String,
    /// `gate/check`.
    pub check: String,
    /// Why.
    pub reason: String,
}

/// Characters of each value that a model is sent (`evidence.model.*`); 0 leaves the section out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amounts {
    /// Of an argument.
    pub arguments: usize,
    /// Of a local or module variable.
    pub locals: usize,
    /// Of an environment variable.
    pub environment: usize,
    /// Log lines.
    pub logs: usize,
}

impl Default for Amounts {
    fn default() -> Self {
        Self { arguments: 1_000, locals: 400, environment: 0, logs: 50 }
    }
}

/// Everything that a request is made from. Raw: it is redacted here.
#[derive(Clone, Debug)]
pub struct Material<'a> {
    /// The function.
    pub task: Task,
    /// What the owner says that it means.
    pub about: &'a str,
    /// The failure and its values.
    pub evidence: &'a Evidence,
    /// The function's text, its secrets masked.
    pub source: &'a str,
    /// Project functions that it calls, by name, their secrets masked.
    pub called: Vec<(String, String)>,
    /// Import lines of the file, and other names of the module that the function reads.
    pub imports: Vec<String>,
    /// The class header of a method.
    pub class_header: String,
    /// Shape of calls that worked; null if none is remembered.
    pub expected: Json,
    /// Shape of this call.
    pub seen: Json,
    /// What other proposers said.
    pub declined: &'a [Declined],
    /// Versions of libraries.
    pub versions: &'a [(String, String)],
    /// Rejected candidates.
    pub attempts: Vec<Attempt>,
    /// How much of the values is sent.
    pub amounts: Amounts,
}

/// A part of the evidence, redacted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    name: &'static str,
    body: Json,
    /// Task, error, statement and source stay whatever else has to go.
    stays: bool,
}

/// A request that fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The system text.
    pub system: String,
    /// The user message: one JSON object between two lines with the marker.
    pub user: String,
    /// Handles of the parts that were sent, which a reply may cite.
    pub handles: Vec<String>,
    /// What was shortened or left out, in numbers.
    pub left_out: Vec<String>,
}

/// The parts that have to stay do not fit into the budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the function and its error alone make a prompt of {bytes} bytes, {allowed} are allowed")]
pub struct TooLarge {
    /// Bytes of the smallest prompt.
    pub bytes: usize,
    /// `model.prompt_size`.
    pub allowed: usize,
}

/// Room for saying what was left out.
const NOTE: usize = 700;

/// Puts a request together.
///
/// # Errors
/// [`TooLarge`]; then nothing is asked.
pub fn compose(
    material: &Material<'_>,
    prompt: &Prompt,
    nonce: &str,
    house_rules: &str,
    size: usize,
) -> Result<Request, TooLarge> {
    let house_rules = Redactor::standard().text(house_rules).into_inner();
    let system = prompt.system(nonce, &house_rules);
    let mut parts = parts::parts(material);
    let mut left_out = Vec::new();
    let frame = system.len() + user("", nonce).len() + NOTE;
    let room = size.saturating_sub(frame);
    for shorten in [true, false] {
        let mut at = parts.len();
        while weight(&parts) > room && at > 0 {
            at -= 1;
            let Some(part) = parts.get_mut(at).filter(|part| !part.stays) else { continue };
            let before = prompt_json(&part.body).len();
            if shorten {
                part.body = parts::shorter(&part.body, 160, 6);
                let after = prompt_json(&part.body).len();
                if after < before {
                    left_out.push(format!("{}: {after} of {before} bytes", part.name));
                }
            } else {
                left_out.retain(|line| !line.starts_with(&format!("{}:", part.name)));
                left_out.push(format!("{}: left out, {before} bytes", part.name));
                parts.remove(at);
            }
        }
    }
    let bytes = weight(&parts) + frame;
    if bytes > size {
        return Err(TooLarge { bytes, allowed: size });
    }
    let (block, handles) = block(&parts, material, &left_out);
    Ok(Request { system, user: user(&block, nonce), handles, left_out })
}

/// The user message of a connection test.
pub fn connection_test(prompt: &Prompt, nonce: &str) -> Request {
    Request { system: prompt.system(nonce, ""), user: user("{}", nonce), handles: Vec::new(), left_out: Vec::new() }
}

/// The opening and the closing line of a marker.
pub fn marks(nonce: &str) -> (String, String) {
    (format!("<<<DATA {nonce}>>>"), format!("<<<END {nonce}>>>"))
}

fn user(block: &str, nonce: &str) -> String {
    let (opening, closing) = marks(nonce);
    format!("{opening}\n{block}\n{closing}\n")
}

fn weight(parts: &[Part]) -> usize {
    // `"e12":{"part":"…","data":…},` round each body.
    parts.iter().map(|part| prompt_json(&part.body).len() + part.name.len() + 30).sum()
}

fn block(parts: &[Part], material: &Material<'_>, left_out: &[String]) -> (String, Vec<String>) {
    let mut map = Map::new();
    let mut handles = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let handle = format!("e{}", number + 1);
        map.insert(handle.clone(), json!({ "part": part.name, "data": part.body }));
        handles.push(handle);
    }
    let mut missing: Vec<String> = parts::absent(material).iter().map(|name| (*name).to_owned()).collect();
    missing.extend(left_out.iter().map(|line| line.chars().take(80).collect()));
    missing.truncate(14);
    map.insert("not_supplied".to_owned(), json!(missing));
    (prompt_json(&Json::Object(map)), handles)
}

#[cfg(test)]
mod tests;
