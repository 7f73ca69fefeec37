//! Running one incident to its end.

use sanare_core::evidence::Evidence;
use sanare_core::gate::GateReport;
use sanare_core::incident::Incident;
use sanare_core::ledger::Entry;
use sanare_core::outcome::{Outcome, Reason};
use sanare_core::policy::Policy;
use sanare_core::port::{Clock, Proposer, Store, StoreFault, Subject, SubjectFault, Target, Verifier};
use sanare_core::receipt::{Receipt, ReceiptState};
use sanare_core::redact::{Redacted, Redactor};
use sanare_core::step::{Applied, Checked, Closed, Step};
use serde_json::{Value as Json, json};

use crate::advance::advance;

/// What an incident is about, fixed for its whole run.
#[derive(Debug)]
pub struct Case<'a> {
    /// The incident.
    pub incident: &'a Incident,
    /// The evidence, raw, in memory.
    pub evidence: &'a Evidence,
    /// The class of the failure in its word (C26).
    pub class: String,
    /// Set when this failure is not for repairing: the reason and what to say.
    pub not_ours: Option<(Reason, String)>,
    /// What the ledger keeps of the evidence, redacted.
    pub recorded: Redacted<Json>,
    /// The owner's policy file.
    pub policy: &'a Policy,
}

/// Everything outside.
pub struct World<'a> {
    /// Memory.
    pub store: &'a dyn Store,
    /// The program that failed.
    pub subject: &'a mut dyn Subject,
    /// The file that may change.
    pub target: &'a dyn Target,
    /// Who is asked for candidates, in order.
    pub proposers: Vec<&'a mut dyn Proposer>,
    /// The owner's own commands.
    pub verifier: &'a mut dyn Verifier,
    /// Time and chance.
    pub clock: &'a dyn Clock,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The last step: closed, waiting, or applied and standing.
    pub last: Step,
    /// The last gate report, if it came to that.
    pub report: GateReport,
    /// The last diff, if there was a candidate.
    pub diff: String,
    /// What the candidate said of itself.
    pub summary: Vec<String>,
    /// How many candidates were tried.
    pub attempts: u32,
}

/// Our own failures; the failing program's trouble is data and stands in the steps.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// The host side failed.
    #[error(transparent)]
    Subject(#[from] SubjectFault),
}

/// What happened so far, kept outside the steps so that a fault can be undone.
pub(crate) struct Progress {
    pub(crate) applied: Option<Applied>,
    pub(crate) receipt: Option<Receipt>,
    pub(crate) written: bool,
    pub(crate) swapped: bool,
    pub(crate) report: GateReport,
    pub(crate) checked: Option<Checked>,
    pub(crate) summary: Vec<String>,
    pub(crate) attempts: u32,
    pub(crate) started: u64,
}

/// Runs an incident until it is closed, waits for a person, or stands applied.
///
/// Whatever fails on our side, nothing is left half done: file and function go back, and the incident closes as
/// escalated with reason `internal`.
pub fn run(case: &Case<'_>, world: &mut World<'_>) -> Ended {
    let mut progress = Progress {
        applied: None,
        receipt: None,
        written: false,
        swapped: false,
        report: GateReport::default(),
        checked: None,
        summary: Vec::new(),
        attempts: 0,
        started: world.clock.elapsed(),
    };
    let last = match drive(case, world, &mut progress) {
        Ok(step) => step,
        Err(fault) => give_up(case, world, &mut progress, &fault),
    };
    let diff = progress.checked.as_ref().map(|checked| checked.diff.clone()).unwrap_or_default();
    Ended { last, report: progress.report, diff, summary: progress.summary, attempts: progress.attempts }
}

fn drive(case: &Case<'_>, world: &mut World<'_>, progress: &mut Progress) -> Result<Step, Fault> {
    let mut step = Step::Opened;
    loop {
        record(case, world, progress, &step)?;
        world.subject.moment(&format!("recorded {}", step.name()));
        if rests(&step) {
            return Ok(step);
        }
        step = advance(step, case, world, progress)?;
    }
}

/// Whether nothing more is done now.
fn rests(step: &Step) -> bool {
    match step {
        Step::Closed(_) | Step::Waiting(_) => true,
        Step::Applied(applied) => applied.standing.is_some(),
        _ => false,
    }
}

fn record(case: &Case<'_>, world: &World<'_>, progress: &mut Progress, step: &Step) -> Result<(), Fault> {
    let entry = entry(case, world, step);
    match step {
        Step::Prepared(prepared) => {
            let receipt = progress.receipt.clone();
            match receipt.filter(|_| case.incident.rules.write == sanare_core::incident::Write::File) {
                Some(receipt) => world.store.append_with_receipt(&entry, &receipt)?,
                None => world.store.append(&entry)?,
            };
            progress.checked = Some(prepared.approved.inner().clone());
        }
        Step::Waiting(_) => {
            match &progress.receipt {
                Some(receipt) => world.store.append_with_receipt(&entry, receipt)?,
                None => world.store.append(&entry)?,
            };
        }
        Step::Closed(closed) if progress.receipt.is_some() => {
            let state = match closed.outcome {
                Outcome::Healed => ReceiptState::Done,
                _ => ReceiptState::Undone,
            };
            world.store.append_and_settle(&entry, state)?;
        }
        Step::Applied(applied) if applied.standing.is_some() && progress.receipt.is_some() => {
            world.store.append_and_settle(&entry, ReceiptState::Done)?;
        }
        _ => {
            world.store.append(&entry)?;
        }
    }
    Ok(())
}

fn entry(case: &Case<'_>, world: &World<'_>, step: &Step) -> Entry {
    let payload = match step {
        Step::Opened => Redactor::standard().json(&json!({ "incident": case.incident })),
        Step::Evident => case.recorded.clone(),
        other => Redactor::standard().json(&other.payload()),
    };
    Entry { incident: case.incident.id.clone(), step: step.name().to_owned(), at: world.clock.now(), payload }
}

/// Our own failure: put everything back as far as that can be done, and say so.
fn give_up(case: &Case<'_>, world: &mut World<'_>, progress: &mut Progress, fault: &Fault) -> Step {
    let mut detail = fault.to_string();
    let mut restored = true;
    if progress.written
        && let Some(receipt) = &progress.receipt
        && let Err(trouble) = world.target.restore(receipt)
    {
        restored = false;
        detail = format!("{detail}; the file could not be put back: {trouble}");
    }
    if progress.swapped
        && let Err(trouble) = world.subject.unswap()
    {
        detail = format!("{detail}; {trouble}");
    }
    let reason = if restored { Reason::Internal } else { Reason::WorldChanged };
    let step = Step::Closed(Closed { outcome: Outcome::Escalated, reason, detail, declined: Vec::new() });
    let entry = entry(case, world, &step);
    // Where the store itself is the fault this fails too; an open receipt is then settled at the next start.
    let written = match (&progress.receipt, restored) {
        (Some(_), true) => world.store.append_and_settle(&entry, ReceiptState::Undone),
        _ => world.store.append(&entry),
    };
    drop(written);
    step
}
