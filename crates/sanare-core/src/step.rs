//! The closed list of steps that every incident goes through.

use serde_json::{Value as Json, json};

use crate::approval::{Approved, Binding};
use crate::gate::{Check, GateReport};
use crate::hash::Digest;
use crate::outcome::{Outcome, Reason};
use crate::policy::Decision;
use crate::proposal::{Candidate, Declined, Rejection};

/// Where an incident is. Each is in the ledger before the next begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A failure arrived.
    Opened,
    /// Its evidence is taken and recorded.
    Evident,
    /// It may be repaired, and this is what is known so far.
    Diagnosed(Diagnosed),
    /// There is a candidate.
    Proposed(Proposed),
    /// Policy lets it go on to the gates.
    Judged(Judged),
    /// The gates have answered.
    Checked(Checked),
    /// It may be acted on.
    Approved(Approved<Checked>),
    /// The receipt is written.
    Prepared(Prepared),
    /// The repair is in force.
    Applied(Applied),
    /// A person is asked.
    Waiting(Waiting),
    /// The repair is being taken back.
    Undoing(Undoing),
    /// It is being handed to a person.
    Escalating(Escalating),
    /// The end.
    Closed(Closed),
}

/// What is known before a proposer is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnosed {
    /// The class of failure (C26) in its word.
    pub class: String,
    /// Candidates that did not get through.
    pub rejections: Vec<Rejection>,
    /// What proposers that had no candidate said.
    pub declined: Vec<Declined>,
    /// Index into the list of proposers: who is asked next.
    pub next_proposer: usize,
    /// What the gates said of the candidate that did not get through just now.
    pub gates: Vec<Check>,
}

/// A candidate with the file text it leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposed {
    /// What was known before.
    pub diagnosed: Diagnosed,
    /// The candidate.
    pub candidate: Candidate,
    /// Its number within the incident, from 1.
    pub attempt: u32,
}

/// A candidate that policy lets go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The proposal.
    pub proposed: Proposed,
    /// What policy said.
    pub decision: Decision,
}

/// A candidate that no gate failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The proposal.
    pub proposed: Proposed,
    /// Every answer of the gates.
    pub report: GateReport,
    /// The module with the candidate in place, `\n` line ends.
    pub module: String,
    /// The function's text in it, as it stands there.
    pub text: String,
    /// What an approval is bound to.
    pub binding: Binding,
    /// A unified diff for people.
    pub diff: String,
}

/// A repair whose receipt is durable.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The approved candidate.
    pub approved: Approved<Checked>,
}

/// A repair in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The checked candidate.
    pub checked: Checked,
    /// Whether the file was written (else only the running function).
    pub in_file: bool,
    /// Set when the call is not run again here: why.
    pub standing: Option<(Reason, String)>,
}

/// A person is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// What they are asked about.
    pub checked: Checked,
    /// Why policy asks.
    pub decision: Decision,
    /// Until when an answer counts, in milliseconds since 1970.
    pub expires_at: u64,
}

/// A repair that is being taken back.
#[derive(Clone, Debug, PartialEq)]
pub struct Undoing {
    /// What was applied.
    pub applied: Applied,
    /// Why it is taken back.
    pub reason: Reason,
    /// The same in words.
    pub detail: String,
    /// What the failed call taught, for the next attempt; `None` ends the incident.
    pub next: Option<Diagnosed>,
}

/// Handing over to a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Escalating {
    /// Why.
    pub reason: Reason,
    /// The same in words.
    pub detail: String,
}

/// The end of an incident.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// How it ended.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
    /// The same in words, for people.
    pub detail: String,
    /// The refusal reports of the proposers, where they had any.
    pub declined: Vec<Declined>,
}

impl Step {
    /// Its name in the ledger.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Evident => "evident",
            Self::Diagnosed(_) => "diagnosed",
            Self::Proposed(_) => "proposed",
            Self::Judged(_) => "judged",
            Self::Checked(_) => "checked",
            Self::Approved(_) => "approved",
            Self::Prepared(_) => "prepared",
            Self::Applied(_) => "applied",
            Self::Waiting(_) => "waiting",
            Self::Undoing(_) => "undoing",
            Self::Escalating(_) => "escalating",
            Self::Closed(_) => "closed",
        }
    }

    /// What the ledger keeps of it, before redaction.
    pub fn payload(&self) -> Json {
        match self {
            Self::Opened | Self::Evident => json!({}),
            Self::Diagnosed(step) => diagnosed(step),
            Self::Proposed(step) => proposed(step),
            Self::Judged(step) => json!({ "decision": step.decision }),
            Self::Checked(step) => checked(step),
            Self::Approved(step) => json!({ "approver": step.approver(), "binding": step.inner().binding }),
            Self::Prepared(step) => {
                let checked = step.approved.inner();
                json!({ "binding": checked.binding, "text": Digest::of(checked.text.as_bytes()) })
            }
            Self::Applied(step) => json!({
                "in_file": step.in_file,
                "standing": step.standing.as_ref().map(|(reason, detail)| json!({ "reason": reason, "detail": detail })),
                "binding": step.checked.binding,
            }),
            Self::Waiting(step) => json!({
                "decision": step.decision,
                "binding": step.checked.binding,
                "digest": step.checked.binding.digest(),
                "expires_at": step.expires_at,
                "text": Digest::of(step.checked.text.as_bytes()),
            }),
            Self::Undoing(step) => json!({ "reason": step.reason, "detail": step.detail }),
            Self::Escalating(step) => json!({ "reason": step.reason, "detail": step.detail }),
            Self::Closed(step) => json!({
                "outcome": step.outcome, "reason": step.reason, "detail": step.detail, "declined": step.declined,
            }),
        }
    }
}

fn diagnosed(step: &Diagnosed) -> Json {
    json!({ "class": step.class, "rejections": step.rejections, "declined": step.declined, "gates": step.gates })
}

fn proposed(step: &Proposed) -> Json {
    let candidate = &step.candidate;
    json!({
        "attempt": step.attempt,
        "proposer": candidate.proposer,
        "tier": candidate.tier,
        "summary": candidate.summary,
        "evidence": candidate.evidence,
        "confidence": candidate.confidence,
        "mappings": candidate.mappings.iter().map(|(old, new)| json!({ "expected": old, "seen": new })).collect::<Vec<_>>(),
        "function": candidate.function,
        "lock": candidate.lock,
        "declined": step.diagnosed.declined,
    })
}

fn checked(step: &Checked) -> Json {
    json!({ "gates": step.report.checks, "diff": step.diff, "binding": step.binding })
}
