//! A person has seen an incident, or takes an act back that was done in it (S113, S114).

use sanare_core::id::Id;
use sanare_core::ledger::Record;
use sanare_core::port::store::Lease;
use sanare_core::service::declaration::Undo;
use sanare_core::service::policy::Case;
use sanare_core::service::receipt::Purpose;
use sanare_core::service::step::{Applied, Checked, Proposed, Step, Undoing};
use sanare_core::service::word::{ReceiptState, Status, StepName};
use sanare_core::service::{Receipt, Text, WorldState};
use serde_json::{Value as Json, json};

use super::Loop;
use super::careful;
use super::offer::{House, case};
use super::person::{NotDone, ended, idle, reopen};
use super::turn::{Next, Turn};

impl Loop<'_> {
    /// Notes that a person has seen it: nobody else need be told.
    ///
    /// # Errors
    /// [`NotDone`]; then nothing changed.
    pub fn acknowledge(&self, incident: &Id, principal: &str) -> Result<(), NotDone> {
        self.under(incident, None, |turn| {
            if turn.incident.status() == Status::Closed {
                return Err(NotDone::NotAvailable(ended(turn)));
            }
            if let Some(by) = acknowledged_by(&turn.world.store.records_of(incident)?) {
                return Err(NotDone::NotAvailable(format!("it was acknowledged before, by {by}")));
            }
            turn.note(ACKNOWLEDGED, &json!({ "by": principal }));
            Ok(turn.commit()?)
        })
    }

    /// Lets the last act of an incident be taken back, while it is watched or after its run has ended. The undo has a
    /// receipt, a fence and a check of its own, and is done by whoever lets the run go on.
    ///
    /// # Errors
    /// [`NotDone`]; then nothing changed.
    pub fn undo(&self, incident: &Id, principal: &str, reason: &str) -> Result<(), NotDone> {
        let why = Text::<300>::of(reason);
        if why.is_empty() {
            return Err(NotDone::NoReason);
        }
        self.under(incident, None, |turn| {
            let receipt = last_act(turn)?;
            let applied = match &turn.run.step {
                Step::Applied(applied) if applied.receipt == receipt.id => (**applied).clone(),
                Step::Applied(_) | Step::Undoing(_) => return Err(NotDone::UnderWay),
                step if step.name() == StepName::Closed => {
                    idle(turn)?;
                    rebuilt(&turn.world.store.records_of(incident)?, &receipt)
                        .ok_or_else(|| not("its records do not say any more what was approved"))?
                }
                _ => return Err(not("another attempt has begun; hold or close it first")),
            };
            may_be_undone(turn, &receipt, &applied)?;
            turn.run.target = Some(receipt.target.clone());
            turn.run.due = None;
            reopen(turn);
            let why = format!("{principal} takes it back: {why}");
            let undoing = Undoing { applied, undo: None, why, by: Some(principal.to_owned()) };
            Ok(turn.take(Next::Go(Step::Undoing(Box::new(undoing))))?)
        })
    }
}

/// The note that somebody has seen it.
const ACKNOWLEDGED: &str = "acknowledged";

/// Who has seen it since it was last begun, by its records.
pub fn acknowledged_by(records: &[Record]) -> Option<String> {
    let anew = ["opened", "reopened", "retried"];
    let since = records.iter().rposition(|one| anew.contains(&one.step.as_str())).unwrap_or(0);
    let seen = records.iter().skip(since).find(|one| one.step == ACKNOWLEDGED)?;
    seen.json()["by"].as_str().map(str::to_owned)
}

fn not(why: &str) -> NotDone {
    NotDone::NotAvailable(why.to_owned())
}

/// The last act of the incident, which must be done and not taken back.
fn last_act(turn: &Turn<'_>) -> Result<Receipt, NotDone> {
    let receipts = turn.world.store.receipts_of(&turn.incident.id)?;
    let last = receipts.into_iter().rfind(|one| one.key.purpose == Purpose::Act);
    let receipt = last.ok_or_else(|| not("nothing was done that could be taken back"))?;
    match receipt.state {
        ReceiptState::Done => Ok(receipt),
        // A job that runs can be cancelled, if its target says how.
        ReceiptState::Started if receipt.undo == Undo::CancelJob && is_followed(turn) => Ok(receipt),
        ReceiptState::Intended | ReceiptState::Started => Err(NotDone::UnderWay),
        ReceiptState::Unknown => Err(not("nobody knows what came of it; settle its receipt first")),
        other => Err(NotDone::NotAvailable(format!("its last act is {other}: there is nothing to take back"))),
    }
}

fn is_followed(turn: &Turn<'_>) -> bool {
    matches!(&turn.run.step, Step::Applied(applied) if applied.job.is_some())
}

/// What is known now; the rest is looked at when it is done.
fn may_be_undone(turn: &Turn<'_>, receipt: &Receipt, applied: &Applied) -> Result<(), NotDone> {
    let action = receipt.key.action;
    if receipt.undo == Undo::None {
        return Err(NotDone::NotAvailable(format!("{action} cannot be taken back: its target declares no undo")));
    }
    if turn.world.house.stopped(&turn.incident.application) {
        return Err(not("the stop switch is set"));
    }
    if receipt.undo == Undo::CancelJob {
        // As long as its job runs the target is this incident's, whoever waits for it.
        return if applied.job.is_some() { Ok(()) } else { Err(not("its job has ended: there is nothing to cancel")) };
    }
    if turn.world.store.target_in_use(&receipt.target, &turn.incident.id)? {
        return Err(not("another incident has the target"));
    }
    // Only the program that lends a function can say what its target is.
    let now = turn.world.house.resolved(receipt);
    if now.is_ok_and(|fitting| careful::state(fitting.adapter, receipt) != WorldState::After) {
        return Err(not("the target is not what the act left"));
    }
    Ok(())
}

/// What was applied, by the records of a run that has ended.
fn rebuilt(records: &[Record], receipt: &Receipt) -> Option<Applied> {
    let of_receipt = |one: &Record| one.step == "prepared" && one.json()["receipt"] == json!(receipt.id);
    let before = records.get(..records.iter().position(of_receipt)?)?;
    let checked = before.iter().rfind(|one| one.step == "checked").map(Record::json)?;
    Some(Applied {
        checked: Checked {
            proposed: last_proposed(before)?,
            decision: part(&checked, "decision")?,
            gates: part(&checked, "gates")?,
            binding: part(&checked, "binding")?,
        },
        receipt: receipt.id.clone(),
        acted_at: receipt.started_at.unwrap_or(receipt.intended_at),
        extended: false,
        asked: Vec::new(),
        job: None,
    })
}

fn part<T: serde::de::DeserializeOwned>(json: &Json, key: &str) -> Option<T> {
    serde_json::from_value(json.get(key)?.clone()).ok()
}

/// The last proposal of some records, with the diagnosis that it rests on.
fn last_proposed(records: &[Record]) -> Option<Proposed> {
    let place = records.iter().rposition(|one| one.step == "proposed")?;
    let (before, proposed) = (records.get(..place)?, records.get(place)?.json());
    // What a person proposes has no step of a diagnosis before it.
    let of_agent = || part(&before.iter().rfind(|one| one.step == "diagnosed")?.json(), "diagnosis");
    Some(Proposed {
        diagnosis: part(&proposed, "diagnosis").or_else(of_agent)?,
        proposal: part(&proposed, "proposal")?,
        seen: part(&proposed, "seen")?,
        proposed_by: part(&proposed, "proposed_by"),
    })
}

impl Loop<'_> {
    /// What policy would judge the last proposal of an incident by, were it judged now; nothing where none was made.
    ///
    /// # Errors
    /// [`NotDone`].
    pub fn case_now(&self, incident: &Id) -> Result<Option<Case>, NotDone> {
        let store = self.world.store;
        let (Some(run), Some(known)) = (store.run(incident)?, store.incident(incident)?) else {
            return Err(NotDone::Unknown);
        };
        let records = store.records_of(incident)?;
        let Some(proposed) = last_proposed(&records) else { return Ok(None) };
        let place = records.iter().rposition(|one| one.step == "proposed").unwrap_or_default();
        let gates = records.iter().skip(place).find(|one| one.step == "checked").map(Record::json);
        let gates = gates.and_then(|checked| part(&checked, "gates"));
        // Nothing is stored: no lease is needed to look.
        let lease = Lease { key: String::new(), fence: 0, until: 0 };
        let turn = Turn::new(self.world, &self.owner, run, known, lease);
        Ok(Some(case(&turn, &House::of(&turn), &proposed, gates.as_ref())?))
    }
}
