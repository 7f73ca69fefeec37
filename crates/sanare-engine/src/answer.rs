//! A person's answer to a waiting incident: looked at once more, written down, then acted on, once (C97).
//!
//! What was shown is what is applied: the receipt was made when the question was asked, and no new candidate is made.
//! Two answers at once: a lease lets one in, and the other finds the incident answered. Should the lease run out under a
//! process that was stopped half-way, the file's own hash still admits one act.

use sanare_core::approval::{Approved, Approver, Binding};
use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::ledger::{Entry, Record};
use sanare_core::outcome::{Outcome, Reason};
use sanare_core::policy::{Policy, Verdict, decide};
use sanare_core::port::{Clock, Store, StoreFault, TargetFault};
use sanare_core::receipt::{Receipt, ReceiptState};
use sanare_core::redact::Redactor;
use serde_json::{Value as Json, json};

use crate::recorded::{Recorded, from};

/// What a person says.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Whether they approve.
    pub approve: bool,
    /// Their account.
    pub name: String,
    /// The groups that the account is in.
    pub groups: Vec<String>,
    /// Why, in their words.
    pub why: String,
}

/// What an answer is given with.
pub struct Desk<'a> {
    /// Memory.
    pub store: &'a dyn Store,
    /// Time and chance.
    pub clock: &'a dyn Clock,
    /// The owner's policy file as it is now.
    pub policy: &'a Policy,
    /// Whether the stop switch is set.
    pub stopped: bool,
    /// The answering process, by a mark that no other process ever has.
    pub process: String,
    /// Hashes a file.
    pub digest_of: &'a dyn Fn(&str) -> Option<Digest>,
    /// Writes a receipt's change, if the file is as it was before.
    pub write: &'a dyn Fn(&Receipt) -> Result<(), TargetFault>,
}

/// What came of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The file holds the repair.
    Applied,
    /// The proposal is closed.
    Denied,
    /// One of several persons approved.
    Counted {
        /// How many have.
        have: usize,
        /// How many it takes.
        need: usize,
    },
}

/// Why an answer was not taken. Nothing was changed then but what the variant says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// Nothing is asked any more.
    #[error("nothing is asked: {0}")]
    NotWaiting(String),
    /// Somebody else is answering at this moment.
    #[error("somebody else is answering this at the moment")]
    Busy,
    /// The question stood too long; the incident is closed with that.
    #[error("nobody answered in time; the question is closed")]
    Expired,
    /// The owner's stop switch.
    #[error("the stop switch is set: nothing is applied until `sanare start`")]
    Stopped,
    /// The file is another one now; the incident is closed with that.
    #[error("the file changed since this was proposed; the approval is void and nothing was written")]
    SourceChanged,
    /// Something else that the question was about changed; the incident is closed with that.
    #[error("{0} since this was asked; the approval is void and nothing was written")]
    Void(String),
    /// The policy file does not let this account approve.
    #[error("`{0}` may not approve: the policy file names the approvers")]
    NotAllowed(String),
    /// Policy refuses at this moment.
    #[error("policy refuses at this moment: {0}")]
    Refused(String),
    /// There is no file to write.
    #[error("this repair was to be made in the running program's memory alone; there is no file to write")]
    MemoryOnly,
    /// The file could not be written; the incident is closed with that.
    #[error("the file could not be written: {0}")]
    NotWritten(TargetFault),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// How long an answer may be on its way.
const LEASE_MS: u64 = 60_000;

/// Takes an answer.
///
/// # Errors
/// [`NotTaken`].
pub fn answer(desk: &Desk<'_>, id: &Id, answer: &Answer) -> Result<Answered, NotTaken> {
    let holder = format!("{}-{:x}", desk.process, desk.clock.chance());
    let lease = desk.store.take_lease(&format!("answer:{id}"), &holder, desk.clock.now(), LEASE_MS)?;
    let Some(lease) = lease else { return Err(NotTaken::Busy) };
    let taken = alone(desk, id, answer);
    // A lease that cannot be given back runs out by itself.
    let _ = desk.store.give_back(&lease);
    taken
}

fn alone(desk: &Desk<'_>, id: &Id, answer: &Answer) -> Result<Answered, NotTaken> {
    let asked = Asked::read(&desk.store.records(id)?)?;
    if !answer.approve {
        let detail = match answer.why.is_empty() {
            true => format!("{} said no", answer.name),
            false => format!("{} said no: {}", answer.name, answer.why),
        };
        close(desk, id, Reason::Denied, &detail, Some(&person(answer)))?;
        return Ok(Answered::Denied);
    }
    if desk.stopped {
        return Err(NotTaken::Stopped);
    }
    if desk.clock.now() >= asked.expires_at {
        close(desk, id, Reason::Expired, Reason::Expired.sentence(), None)?;
        return Err(NotTaken::Expired);
    }
    allowed(desk.policy, answer)?;
    if let Some(changed) = asked.changed(desk) {
        let detail = format!("{changed} since this was asked");
        close(desk, id, Reason::Policy, &detail, None)?;
        return Err(NotTaken::Void(changed));
    }
    let receipt = desk.store.receipt(id)?.filter(|receipt| receipt.state == ReceiptState::Planned);
    let Some(receipt) = receipt else { return Err(NotTaken::MemoryOnly) };
    let bound = receipt.before == asked.binding.before && receipt.after == asked.binding.after;
    if !bound || (desk.digest_of)(&receipt.path).as_ref() != Some(&asked.binding.before) {
        let detail = "the file changed since this was proposed; nothing was written";
        close(desk, id, Reason::SourceChanged, detail, None)?;
        return Err(NotTaken::SourceChanged);
    }
    asked.decide(desk)?;
    let need = desk.policy.file().and_then(|file| file.approvals.count).unwrap_or(1) as usize;
    let mut persons = asked.approved_by.clone();
    if !persons.contains(&answer.name) {
        desk.store.append(&entry(desk, id, "answered", &json!({ "approver": person(answer) })))?;
        persons.push(answer.name.clone());
    }
    if persons.len() < need {
        return Ok(Answered::Counted { have: persons.len(), need });
    }
    act(desk, id, &asked.binding, receipt, answer)
}

/// Written down, prepared, acted on.
fn act(desk: &Desk<'_>, id: &Id, binding: &Binding, receipt: Receipt, answer: &Answer) -> Result<Answered, NotTaken> {
    let payload = json!({ "approver": person(answer), "binding": binding, "process": desk.process });
    let record = desk.store.append(&entry(desk, id, "approved", &payload))?;
    let Some(approved) = Approved::by_person(receipt, &record, &answer.name, &answer.why) else {
        return Err(NotTaken::Void("the record of the answer is not one".to_owned()));
    };
    let payload = json!({ "binding": binding, "process": desk.process });
    desk.store.append_and_settle(&entry(desk, id, "prepared", &payload), ReceiptState::Open)?;
    if let Err(fault) = (desk.write)(approved.inner()) {
        let (reason, taken) = match fault {
            TargetFault::Changed => (Reason::SourceChanged, NotTaken::SourceChanged),
            TargetFault::DiskFull => (Reason::DiskFull, NotTaken::NotWritten(fault)),
            TargetFault::NotWritable(_) => (Reason::Permission, NotTaken::NotWritten(fault)),
            TargetFault::Other(_) => (Reason::Internal, NotTaken::NotWritten(fault)),
        };
        close(desk, id, reason, &taken.to_string(), None)?;
        return Err(taken);
    }
    let detail = format!("approved by {}; no call has confirmed it yet", answer.name);
    let payload = json!({
        "in_file": true,
        "standing": { "reason": Reason::Unconfirmed, "detail": detail },
        "binding": binding,
    });
    desk.store.append_and_settle(&entry(desk, id, "applied", &payload), ReceiptState::Done)?;
    Ok(Answered::Applied)
}

/// What was asked, as it stands in the ledger.
struct Asked {
    recorded: Recorded,
    binding: Binding,
    expires_at: u64,
    evidence: Digest,
    candidate: Digest,
    approved_by: Vec<String>,
}

impl Asked {
    fn read(records: &[Record]) -> Result<Self, NotTaken> {
        let rests = ["waiting", "approved", "prepared", "applied", "closed", "undoing", "escalating"];
        let standing = records.iter().rev().find(|record| rests.contains(&record.step.as_str()));
        let Some(waiting) = standing.filter(|record| record.step == "waiting") else {
            return Err(NotTaken::NotWaiting(ended(records)));
        };
        let waiting = waiting.json();
        let incomplete = || NotTaken::NotWaiting("its record is not complete".to_owned());
        let last = |step: &str| records.iter().rev().find(|record| record.step == step).ok_or_else(incomplete);
        let binding: Binding = from(&waiting["binding"]).ok_or_else(incomplete)?;
        let shown: Binding = from(&last("checked")?.json()["binding"]).ok_or_else(incomplete)?;
        Ok(Self {
            recorded: Recorded::read(records).ok_or_else(incomplete)?,
            expires_at: waiting["expires_at"].as_u64().ok_or_else(incomplete)?,
            evidence: Digest::of(last("evident")?.payload.as_bytes()),
            candidate: shown.candidate,
            approved_by: records
                .iter()
                .filter(|record| record.step == "answered")
                .filter_map(|record| record.json()["approver"]["name"].as_str().map(str::to_owned))
                .collect(),
            binding,
        })
    }

    /// What the question was about and is another now, in words.
    fn changed(&self, desk: &Desk<'_>) -> Option<String> {
        if self.binding.policy != desk.policy.digest() {
            return Some("the policy file changed".to_owned());
        }
        if self.binding.evidence != self.evidence {
            return Some("the record of the evidence changed".to_owned());
        }
        if self.binding.candidate != self.candidate {
            return Some("the candidate changed".to_owned());
        }
        let incident = &self.recorded.incident;
        let target = Binding::target_of(&incident.path, &incident.function);
        (self.binding.target != target).then(|| "the target changed".to_owned())
    }

    /// Policy is asked again right before the act: hours and the stop switch may say something else now.
    fn decide(&self, desk: &Desk<'_>) -> Result<(), NotTaken> {
        let situation = self.recorded.situation(desk.policy, desk.clock.now(), desk.stopped);
        let report = self.recorded.report.clone().unwrap_or_default();
        let decision = decide(&situation, &report);
        match decision.verdict {
            Verdict::Refuse => Err(NotTaken::Refused(decision.because())),
            Verdict::Permit | Verdict::Ask => Ok(()),
        }
    }
}

/// How an incident that asks nothing stands, and who answered.
fn ended(records: &[Record]) -> String {
    let who = records.iter().rev().find_map(|record| {
        let payload = record.json();
        let approver = if record.step == "approved" { &payload["approver"] } else { &payload["answer"] };
        approver["name"].as_str().map(|name| format!(", answered by {name}"))
    });
    let who = who.unwrap_or_default();
    match records.last().map(|record| (record.step.as_str(), record.json())) {
        None => "there is no such incident".to_owned(),
        Some(("closed", payload)) => {
            let word = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
            format!("it is closed ({}: {}){who}", word("outcome"), word("reason"))
        }
        Some(("applied", _)) => format!("its repair is applied{who}"),
        Some((step, _)) => format!("it stands at `{step}`{who}"),
    }
}

/// Whether the policy file lets this account approve; without a list whoever may write the file may.
fn allowed(policy: &Policy, answer: &Answer) -> Result<(), NotTaken> {
    let named = policy.file().and_then(|file| file.approvals.approvers.as_ref());
    let may = named.is_none_or(|named| {
        named.iter().any(|entry| match entry.strip_prefix("group:") {
            Some(group) => answer.groups.iter().any(|own| own == group),
            None => *entry == answer.name,
        })
    });
    if may { Ok(()) } else { Err(NotTaken::NotAllowed(answer.name.clone())) }
}

fn person(answer: &Answer) -> Approver {
    Approver::Person { name: answer.name.clone(), why: answer.why.clone() }
}

fn close(
    desk: &Desk<'_>,
    id: &Id,
    reason: Reason,
    detail: &str,
    answer: Option<&Approver>,
) -> Result<Record, StoreFault> {
    let payload =
        json!({ "outcome": Outcome::Refused, "reason": reason, "detail": detail, "declined": [], "answer": answer });
    desk.store.append_and_settle(&entry(desk, id, "closed", &payload), ReceiptState::Undone)
}

fn entry(desk: &Desk<'_>, id: &Id, step: &str, payload: &Json) -> Entry {
    let payload = Redactor::standard().json(payload);
    Entry { incident: id.clone(), step: step.to_owned(), at: desk.clock.now(), payload }
}
