//! The offline engine as a proposer: layer by layer, each tried in the sandbox before the next is thought of (C62).

use std::path::Path;
use std::sync::Arc;

use sanare_core::evidence::{Failure, TwinCall};
use sanare_core::incident::ProposerName;
use sanare_core::outcome::Reason;
use sanare_core::port::{Ask, Proposer, Ran, RanState, Subject};
use sanare_core::proposal::{Candidate, Declined, Tier};
use sanare_core::value::Value;
use sanare_drift::lexicon::Lexicon;
use sanare_drift::library::DISTRIBUTIONS;
use sanare_drift::lockfile::Entry;
use sanare_drift::problem::{Answer, Layer, Mapping, Problem, Refusal, Runtime, Words};
use sanare_drift::shape::CallShape;
use sanare_source::parse::Source;

use crate::wire::lockfile::LockBook;

/// The offline engine with what is remembered of the function.
#[derive(Debug)]
pub struct DriftProposer {
    /// Shapes of calls that worked, newest first.
    pub remembered: Vec<CallShape>,
    /// Mappings accepted before, and those to be accepted.
    pub lock: Arc<LockBook>,
    /// The owner's own words; or why they could not be read.
    pub words: Result<Option<Arc<Lexicon>>, String>,
    /// Most layers of one repair.
    pub layers: usize,
}

/// The lexicon with the owner's files (`heal.drift.lexicon`), or why one of them is of no use. Without files the standard
/// one is meant, and nothing is read.
///
/// # Errors
/// What is wrong, in words.
pub fn lexicon(project_root: &Path, files: &[String]) -> Result<Option<Arc<Lexicon>>, String> {
    /// A larger file is no list of words.
    const MOST: u64 = 2 * 1_024 * 1_024;
    if files.is_empty() {
        return Ok(None);
    }
    let mut texts = Vec::new();
    for name in files {
        let path = project_root.join(name);
        let plain = std::fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= MOST);
        let text = if plain {
            std::fs::read_to_string(&path).map_err(|error| error.to_string())
        } else {
            Err("no plain file, or too large".to_owned())
        };
        texts.push(text.map_err(|why| format!("the lexicon `{name}` cannot be read: {why}"))?);
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let made = Lexicon::with_owner(&texts).map_err(|why| format!("the lexicon is not of its form: {}", why.message))?;
    Ok(Some(Arc::new(made)))
}

/// The other names that the contract's fields may come under: expected, seen (I1).
fn contract_aliases(contract: &Value) -> Vec<(String, String)> {
    let parts = contract.as_map().into_iter().flatten();
    parts
        .filter_map(|(_, part)| part.get("aliases")?.as_map())
        .flatten()
        .filter_map(|(name, alias)| Some((name.clone(), alias.as_text()?.to_owned())))
        .collect()
}

impl Proposer for DriftProposer {
    fn name(&self) -> ProposerName {
        ProposerName::Drift
    }

    fn propose(&mut self, ask: &Ask<'_>, subject: &mut dyn Subject) -> Result<Box<Candidate>, Declined> {
        let versions = versions(ask, subject);
        let mut problem = problem(ask, &self.remembered, versions, subject);
        let lexicon = self.words.clone().map_err(|why| plain(Reason::Settings, why))?;
        problem.words = Words::of(lexicon, contract_aliases(&ask.evidence.contract));
        let unused = match self.lock.accepted() {
            Ok(accepted) => {
                problem.accepted = accepted;
                None
            }
            Err(why) => Some(format!("{why}; the file was not used")),
        };
        let twins = sanare_drift::twin::twins(&problem);
        let mut layers: Vec<Layer> = Vec::new();
        let helper = failing_in(&problem.failure).filter(|_| problem.failure.by_repair).map(str::to_owned);
        loop {
            let layer = match sanare_drift::engine::next_layer(&problem) {
                Answer::Layer(layer) => layer,
                Answer::Refused(refusal) => return Err(declined(refusal, &layers)),
            };
            problem.source = layer.source.clone();
            layers.push(layer);
            let ran =
                subject.trial(&problem.source, None).map_err(|fault| plain(Reason::Internal, fault.to_string()))?;
            match next_failure(ran) {
                Next::Done => {
                    let mut candidate = candidate(ask, &problem, &layers, twins)?;
                    candidate.evidence.extend(unused);
                    let entries = entries(&layers);
                    candidate.lock = entries.iter().filter_map(|entry| serde_json::to_value(entry).ok()).collect();
                    self.lock.offer(&candidate.function, entries);
                    return Ok(candidate);
                }
                Next::Failed(failure) if layers.len() < self.layers => {
                    // The same helper may lack a further name: it is the repair's as it was.
                    let again = helper.is_some() && failing_in(&failure) == helper.as_deref();
                    problem.failure = Failure { by_repair: failure.deliberate && again, ..*failure };
                }
                Next::Failed(failure) => {
                    let text =
                        format!("after {} layers it still raises {}: {}", self.layers, failure.class, failure.message);
                    return Err(plain(Reason::NoProposer, text));
                }
                Next::Stopped(why) => return Err(plain(Reason::NoProposer, why)),
            }
        }
    }
}

/// Versions of the libraries that the module speaks of; looking one up is dear, so no other is asked for. A host that
/// cannot answer leaves them empty.
pub(crate) fn versions(ask: &Ask<'_>, subject: &mut dyn Subject) -> Vec<(String, String)> {
    let spoken_of = |name: &&str| ask.evidence.source.contains(*name);
    let names: Vec<String> = DISTRIBUTIONS.into_iter().filter(spoken_of).map(str::to_owned).collect();
    if names.is_empty() { Vec::new() } else { subject.versions(&names).unwrap_or_default() }
}

/// The failure as the offline engine is asked about it.
pub(crate) fn problem(
    ask: &Ask<'_>,
    remembered: &[CallShape],
    versions: Vec<(String, String)>,
    subject: &mut dyn Subject,
) -> Problem {
    let evidence = ask.evidence;
    let members = sanare_drift::library::questions(&evidence.source, ask.function);
    let runtime = Runtime {
        python: evidence.python,
        // A host that cannot answer leaves the facts empty: the library table then applies nothing.
        members: if members.is_empty() { Vec::new() } else { subject.members(&members).unwrap_or_default() },
        versions,
    };
    Problem {
        source: evidence.source.clone(),
        function: ask.function.to_owned(),
        first_line: evidence.first_line,
        failure: evidence.failure.clone(),
        arguments: evidence.arguments.clone(),
        remembered: remembered.to_vec(),
        accepted: Vec::new(),
        words: Words::default(),
        runtime,
    }
}

/// What the lockfile gets when these layers are written.
fn entries(layers: &[Layer]) -> Vec<Entry> {
    let entry = |layer: &Layer, mapping: &Mapping| Entry {
        function: String::new(),
        layer: layer.kind.clone(),
        expected: mapping.expected.clone(),
        seen: mapping.seen.clone(),
        tier: mapping.tier,
        evidence: rule_ids(&mapping.evidence),
        profile: layer
            .profiles
            .iter()
            .find(|(seen, _)| *seen == mapping.seen)
            .and_then(|(_, profile)| serde_json::to_string(profile).ok())
            .unwrap_or_default(),
        incident: String::new(),
        accepted: String::new(),
    };
    layers.iter().flat_map(|layer| layer.mappings.iter().map(move |mapping| entry(layer, mapping))).collect()
}

/// `I4` of `I4 concept amount`.
fn rule_ids(evidence: &[String]) -> Vec<String> {
    let id = |line: &String| line.split(' ').next().map(str::to_owned);
    evidence.iter().filter_map(id).filter(|id| id.len() <= 2 && id.starts_with(['I', 'S'])).collect()
}

/// The function that raised.
fn failing_in(failure: &Failure) -> Option<&str> {
    failure.frames.last().map(|frame| frame.function.as_str())
}

enum Next {
    Done,
    Failed(Box<Failure>),
    Stopped(String),
}

fn next_failure(ran: Ran) -> Next {
    match (ran.state, ran.failure) {
        // Without a sandbox the first layer is all that can be known; the gates say so and a person is asked.
        (RanState::Returned | RanState::NoIsolation | RanState::CannotRun | RanState::Denied, _) => Next::Done,
        (RanState::Raised, Some(failure)) => Next::Failed(Box::new(failure)),
        (state, _) => Next::Stopped(format!("the layer could not be tried: {state:?}: {}", ran.detail)),
    }
}

fn candidate(
    ask: &Ask<'_>,
    problem: &Problem,
    layers: &[Layer],
    twins: Vec<TwinCall>,
) -> Result<Box<Candidate>, Declined> {
    let text = Source::parse(&problem.source).ok().and_then(|source| {
        source.function_at(ask.function, problem.first_line).map(|found| source.whole_lines(found).to_owned())
    });
    let Some(function) = text else {
        return Err(plain(Reason::Internal, "the edited module does not hold the function any more".to_owned()));
    };
    Ok(Box::new(Candidate {
        proposer: ProposerName::Drift,
        function,
        tier: layers.iter().map(|layer| layer.tier).max().unwrap_or(Tier::D),
        summary: layers.iter().map(|layer| layer.summary.clone()).collect(),
        evidence: layers.iter().flat_map(|layer| layer.evidence.clone()).collect(),
        mappings: layers
            .iter()
            .flat_map(|layer| &layer.mappings)
            .map(|mapping| (mapping.expected.clone(), mapping.seen.clone()))
            .collect(),
        twins,
        // Left to the gate, which reads the old body itself.
        expected_names: Vec::new(),
        lock: Vec::new(),
        seen: Vec::new(),
        confidence: None,
    }))
}

fn declined(refusal: Refusal, layers: &[Layer]) -> Declined {
    let before = layers.iter().map(|layer| layer.kind.as_str()).collect::<Vec<_>>().join(", ");
    let summary = match before.is_empty() {
        true => refusal.summary.clone(),
        false => format!("after {before}: {}", refusal.summary),
    };
    Declined { reason: refusal.reason, summary, report: serde_json::to_value(&refusal).unwrap_or_default() }
}

fn plain(reason: Reason, summary: String) -> Declined {
    Declined { reason, summary, report: serde_json::Value::Null }
}
