//! Running one incident to its end.

use sanare_core::evidence::Evidence;
use sanare_core::gate::GateReport;
use sanare_core::incident::Incident;
use sanare_core::ledger::{Entry, Record};
use sanare_core::outcome::{Outcome, Reason};
use sanare_core::policy::Policy;
use sanare_core::port::store::{Bucket, Lease, ReceiptChange};
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
    /// The lease under which everything is written; none where nothing can come of the incident but a record.
    pub lease: Option<&'a Lease>,
    /// Budgets of which the repair takes a unit each before it is put in force (C118).
    pub budgets: &'a [Bucket],
    /// Set when the incident goes on with an outer function as its target: the candidates that it had before (C119).
    pub continued: Option<u32>,
}

/// Everything outside.
pub struct World<'a> {
    /// Memory.
    pub store: &'a dyn Store,
    /// The program that failed.
    pub subject: &'a mut dyn Subject,
    /// The file that may change.
    pub target: &'a mut dyn Target,
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
    /// Whether another process took the lease over: then the last step is not in the ledger.
    pub overtaken: bool,
    /// Whether the owner's call was run again.
    pub reran: bool,
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
    /// Whether the budgets were asked.
    pub(crate) paid: bool,
    /// Whether the owner's call was run again.
    pub(crate) reran: bool,
    /// How often the candidate was placed anew because the rest of the file had changed.
    pub(crate) replaced: u32,
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
        attempts: case.continued.unwrap_or(0),
        started: world.clock.elapsed(),
        paid: false,
        reran: false,
        replaced: 0,
    };
    let mut lost = false;
    let last = match drive(case, world, &mut progress) {
        Ok(step) => step,
        Err(Fault::Store(StoreFault::LeaseLost)) => {
            lost = true;
            overtaken(case, world, &mut progress)
        }
        Err(fault) => give_up(case, world, &mut progress, &fault),
    };
    let diff = progress.checked.as_ref().map(|checked| checked.diff.clone()).unwrap_or_default();
    Ended {
        last,
        report: progress.report,
        diff,
        summary: progress.summary,
        attempts: progress.attempts,
        overtaken: lost,
        reran: progress.reran,
    }
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
    let receipt = progress.receipt.clone();
    let in_file = case.incident.rules.write == sanare_core::incident::Write::File;
    let change = match (step, &receipt) {
        (_, None) => ReceiptChange::None,
        (Step::Prepared(_), Some(receipt)) if in_file => ReceiptChange::Keep(receipt),
        (Step::Waiting(_), Some(receipt)) => ReceiptChange::Keep(receipt),
        (Step::Closed(closed), Some(_)) if closed.outcome == Outcome::Healed => {
            ReceiptChange::Settle(ReceiptState::Done)
        }
        (Step::Applied(applied), Some(_)) if applied.standing.is_some() => ReceiptChange::Settle(ReceiptState::Done),
        // The next attempt has a receipt of its own: this one is over, whether it was written and taken back or not.
        (Step::Closed(_) | Step::Diagnosed(_) | Step::Judged(_), Some(_)) => {
            ReceiptChange::Settle(ReceiptState::Undone)
        }
        _ => ReceiptChange::None,
    };
    append(case, world.store, &entry, change)?;
    match step {
        Step::Prepared(prepared) => progress.checked = Some(prepared.approved.inner().clone()),
        Step::Diagnosed(_) | Step::Judged(_) => progress.receipt = None,
        _ => {}
    }
    Ok(())
}

/// Writes an entry: under the lease where there is one.
fn append(case: &Case<'_>, store: &dyn Store, entry: &Entry, change: ReceiptChange<'_>) -> Result<(), StoreFault> {
    match (case.lease, change) {
        (Some(lease), change) => store.append_leased(entry, change, lease),
        (None, ReceiptChange::None) => store.append(entry),
        (None, ReceiptChange::Keep(receipt)) => store.append_with_receipt(entry, receipt),
        (None, ReceiptChange::Settle(state)) => store.append_and_settle(entry, state),
    }
    .map(drop)
}

fn entry(case: &Case<'_>, world: &World<'_>, step: &Step) -> Entry {
    let payload = match step {
        Step::Opened => Redactor::standard().json(&opened(case)),
        Step::Evident => case.recorded.clone(),
        other => Redactor::standard().json(&other.payload()),
    };
    let name = match (step, case.continued) {
        (Step::Opened, Some(_)) => CONTINUED,
        _ => step.name(),
    };
    Entry { incident: case.incident.id.clone(), step: name.to_owned(), at: world.clock.now(), payload }
}

/// The step with which an incident goes on with an outer function, in the place of `opened`.
pub const CONTINUED: &str = "continued";

fn opened(case: &Case<'_>) -> Json {
    match case.continued {
        None => json!({ "incident": case.incident }),
        Some(attempts) => json!({ "incident": case.incident, "attempts": attempts }),
    }
}

/// The records since the incident got the target that it has now, with the one that says which that is.
pub fn of_last_target(records: &[Record]) -> &[Record] {
    let from = records.iter().rposition(|record| record.step == CONTINUED).unwrap_or(0);
    records.get(from..).unwrap_or_default()
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
    let change = match (&progress.receipt, restored) {
        (Some(_), true) => ReceiptChange::Settle(ReceiptState::Undone),
        _ => ReceiptChange::None,
    };
    drop(append(case, world.store, &entry, change));
    step
}

/// The lease is another's now, and so is the incident: who took it has settled it by what stands in the file. Nothing
/// more is recorded, and the file is left to the other, unless it was settled as never written: then ours came late and
/// is taken back, if it is still ours alone.
fn overtaken(case: &Case<'_>, world: &mut World<'_>, progress: &mut Progress) -> Step {
    let mut detail = StoreFault::LeaseLost.to_string();
    if progress.written
        && let Some(receipt) = &progress.receipt
        && let Ok(Some(settled)) = world.store.receipt(&case.incident.id)
        && settled.state == ReceiptState::Undone
        && world.target.digest_now().as_ref() == Some(&receipt.after)
        && let Err(trouble) = world.target.restore(receipt)
    {
        detail = format!("{detail}; the file could not be put back: {trouble}");
    }
    if progress.swapped
        && let Err(trouble) = world.subject.unswap()
    {
        detail = format!("{detail}; {trouble}");
    }
    Step::Closed(Closed { outcome: Outcome::Escalated, reason: Reason::Internal, detail, declined: Vec::new() })
}
