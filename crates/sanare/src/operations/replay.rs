//! A recorded incident once more, changing nothing: the same decisions, or another candidate through the same gates.

use std::path::Path;

use sanare_core::gate::{Check, Gate, GateReport};
use sanare_core::policy::{Decision, decide};
use sanare_core::port::{Clock, Store, StoreFault};
use sanare_engine::recorded::Recorded;
use sanare_engine::replay::{Replayed, replay as again};
use sanare_source::VetContext;
use sanare_source::parse::Source;
use sanare_store::Memory;

use crate::operations::policy::{Explain, current};
use crate::operations::show::{self, Show};
use crate::wire::clock::SystemClock;

/// Why nothing was replayed.
#[derive(Debug, thiserror::Error)]
pub enum Replay {
    /// No such incident.
    #[error(transparent)]
    Show(#[from] Show),
    /// The policy cannot be asked.
    #[error(transparent)]
    Explain(#[from] Explain),
    /// The incident has no candidate whose place another could take.
    #[error("incident `{0}` has no candidate: its gates never ran")]
    NoCandidate(String),
    /// The candidate or the project's file cannot be used.
    #[error("{0}")]
    Candidate(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// Runs the recorded steps again; each as it was and as it is decided now.
///
/// # Errors
/// [`Replay`].
pub fn replay(store: &dyn Store, project_root: &Path, given: &str) -> Result<Vec<Replayed>, Replay> {
    let id = show::find(store, given)?;
    let policy = current(project_root)?;
    Ok(again(&store.records(&id)?, &policy, &Memory::new())?)
}

/// What the gates and policy say of another candidate.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Every answer; what needs the failing process says that it was skipped.
    pub report: GateReport,
    /// What policy decides with it.
    pub decision: Decision,
}

/// Puts another candidate through the gates of an incident: those of its text, against the file of today. The trial and
/// the replay need the failing call, which ended with its process.
///
/// # Errors
/// [`Replay`].
pub fn with_candidate(store: &dyn Store, project_root: &Path, given: &str, candidate: &str) -> Result<Judged, Replay> {
    let id = show::find(store, given)?;
    let recorded = Recorded::read(&store.records(&id)?).ok_or_else(|| Replay::NoCandidate(id.to_string()))?;
    let policy = current(project_root)?;
    let path = project_root.join(&recorded.incident.path);
    let module =
        std::fs::read_to_string(&path).map_err(|error| Replay::Candidate(format!("`{}`: {error}", path.display())))?;
    let function = one_function(candidate, &recorded.incident.function)?;
    let mut report = sanare_source::vet(&module, &recorded.incident.function, &function, &VetContext::default());
    let gone = "the failing call ended with its process";
    report.checks.push(Check::skipped(Gate::Trial, "returns", gone));
    report.checks.push(Check::skipped(Gate::Replay, "twin", gone));
    let decision = decide(&recorded.situation(&policy, SystemClock::new().now(), false), &report);
    Ok(Judged { report, decision })
}

/// The function's text in a candidate that is a function or a whole file.
fn one_function(candidate: &str, name: &str) -> Result<String, Replay> {
    let source = Source::parse(candidate).map_err(|error| Replay::Candidate(error.to_string()))?;
    let bare = name.rsplit('.').next().unwrap_or(name);
    let found = source.functions(name);
    let found = if found.is_empty() { source.functions(bare) } else { found };
    match found.as_slice() {
        [] => Err(Replay::Candidate(format!("the candidate has no function `{name}`"))),
        [first, ..] => Ok(source.slice(*first).to_owned()),
    }
}
