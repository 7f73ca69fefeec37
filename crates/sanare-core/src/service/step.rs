//! The closed list of steps of a run, with what each hands on (S105). Each is stored before the next begins.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::approval::{Approval, Binding};
use super::diagnosis::Diagnosis;
use super::gates::GateReport;
use super::moment::Moment;
use super::proposal::{Advice, Proposal};
use super::target::Identity;
use super::verification::Asked;
use super::word::{ClosedBy, StepName, words};
use crate::approval::{Approved, Approver};
use crate::hash::Digest;
use crate::id::Id;
use crate::outcome::Outcome;
use crate::policy::{Decision, Verdict};

/// Where a run is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// There is an incident with its first evidence.
    Opened,
    /// Its evidence is frozen.
    Evident {
        /// The snapshot's digest.
        snapshot: Digest,
    },
    /// An agent has answered.
    Diagnosed(Box<Diagnosed>),
    /// There is an action with its target.
    Proposed(Box<Proposed>),
    /// Policy has not refused it.
    Judged(Box<Judged>),
    /// No gate has failed.
    Checked(Box<Checked>),
    /// A person is asked.
    Waiting(Box<Checked>, Id),
    /// It may be acted on.
    Approved(Box<Checked>, Option<Id>),
    /// The receipt is written.
    Prepared(Box<Checked>, Id),
    /// The adapter has answered; verification runs.
    Applied(Box<Applied>),
    /// The act is being taken back.
    Undoing(Box<Undoing>),
    /// A person is being told.
    Escalating(Escalating),
    /// The end.
    Closed(Closed),
}

/// What an agent said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnosed {
    /// What is wrong.
    pub diagnosis: Diagnosis,
    /// What to do.
    pub advice: Option<Advice>,
}

/// An action with its target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposed {
    /// What it rests on.
    pub diagnosis: Diagnosis,
    /// What is to be done.
    pub proposal: Proposal,
    /// What the target was then.
    pub seen: Identity,
    /// Who proposed it, where that was a person.
    pub proposed_by: Option<String>,
}

/// What policy said of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judged {
    /// The proposal.
    pub proposed: Proposed,
    /// The verdict; never refuse.
    pub decision: Decision,
}

/// What the gates said of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checked {
    /// The proposal.
    pub proposed: Proposed,
    /// The verdict with the gates.
    pub decision: Decision,
    /// Their answers.
    pub gates: GateReport,
    /// What an approval covers.
    pub binding: Binding,
}

/// An act that was begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// What was done.
    pub checked: Checked,
    /// Its receipt.
    pub receipt: Id,
    /// When it was begun.
    pub acted_at: Moment,
    /// Whether the window was extended.
    pub extended: bool,
    /// What the serving probe said since.
    pub asked: Vec<Asked>,
}

/// An act that is being taken back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undoing {
    /// What was done.
    pub applied: Applied,
    /// The receipt of taking it back, once it is written.
    pub undo: Option<Id>,
    /// Why.
    pub why: String,
}

words! {
    /// Why a person is told.
    Cause("cause") {
        /// No agent answered.
        NoAgent = "no_agent",
        /// The agent proposes to hand it over, or nothing.
        Proposed = "proposed",
        /// An attempt, time or round budget is spent.
        Budget = "budget",
        /// A person said no.
        Denied = "denied",
        /// Nobody answered in time.
        Expired = "expired",
        /// Nobody knows what an act did.
        Unknown = "unknown",
        /// Nothing can show whether an act helped.
        NotVerified = "not_verified",
        /// It is worse than before.
        Worse = "worse",
        /// Taking an act back failed or is not possible.
        UndoFailed = "undo_failed",
        /// Policy refuses it.
        Refused = "refused",
        /// Sanare itself failed.
        Internal = "internal",
    }
}

/// What a person is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Escalating {
    /// Why, in a word.
    pub cause: Cause,
    /// Why, in a sentence.
    pub why: String,
    /// Whether it is critical whatever the incident's severity.
    pub critical: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// How.
    pub outcome: Outcome,
    /// By whom or what; nothing for one that was handed over and still fires.
    pub closed_by: Option<ClosedBy>,
    /// Why, in a sentence.
    pub why: String,
}

impl Step {
    /// Its name.
    pub fn name(&self) -> StepName {
        match self {
            Self::Opened => StepName::Opened,
            Self::Evident { .. } => StepName::Evident,
            Self::Diagnosed(_) => StepName::Diagnosed,
            Self::Proposed(_) => StepName::Proposed,
            Self::Judged(_) => StepName::Judged,
            Self::Checked(_) => StepName::Checked,
            Self::Waiting(..) => StepName::Waiting,
            Self::Approved(..) => StepName::Approved,
            Self::Prepared(..) => StepName::Prepared,
            Self::Applied(_) => StepName::Applied,
            Self::Undoing(_) => StepName::Undoing,
            Self::Escalating(_) => StepName::Escalating,
            Self::Closed(_) => StepName::Closed,
        }
    }

    /// Whether no receipt was started yet, so that a symptom that clears ends the run by itself.
    pub fn is_before_act(&self) -> bool {
        self.name() < StepName::Applied
    }

    /// What the ledger keeps of it: what is new in this step, with the digests of what it rests on.
    pub fn payload(&self) -> Json {
        match self {
            Self::Opened => json!({}),
            Self::Evident { snapshot } => json!({ "snapshot": snapshot }),
            Self::Diagnosed(step) => json!({ "diagnosis": step.diagnosis, "advice": step.advice }),
            Self::Proposed(step) => {
                json!({ "proposal": step.proposal, "seen": step.seen, "snapshot": step.diagnosis.evidence_digest })
            }
            Self::Judged(step) => json!({ "proposal": step.proposed.proposal.id, "decision": step.decision }),
            Self::Checked(step) => json!({ "gates": step.gates, "decision": step.decision, "binding": step.binding }),
            Self::Waiting(step, approval) => json!({ "approval": approval, "binding": step.binding.digest() }),
            Self::Approved(step, approval) => json!({ "approval": approval, "binding": step.binding.digest() }),
            Self::Prepared(step, receipt) => json!({ "receipt": receipt, "binding": step.binding.digest() }),
            Self::Applied(step) => {
                json!({ "receipt": step.receipt, "acted_at": step.acted_at, "extended": step.extended })
            }
            Self::Undoing(step) => json!({ "receipt": step.applied.receipt, "undo": step.undo, "why": step.why }),
            Self::Escalating(step) => json!(step),
            Self::Closed(step) => json!(step),
        }
    }
}

/// Lets a checked proposal be acted on now: by policy, or by a person's recorded and current approval.
///
/// # Errors
/// Why not; then the approval is void.
pub fn admit(
    checked: Checked,
    now: &Decision,
    binding: &Binding,
    approval: Option<&Approval>,
    approvers: &[String],
    at: Moment,
) -> Result<Approved<Checked>, String> {
    if *binding != checked.binding {
        return Err("what it rests on has changed".to_owned());
    }
    match now.verdict {
        Verdict::Refuse => Err(now.because()),
        Verdict::Permit => Ok(Approved::by_policy(checked, Approver::Policy { rules: now.rules.clone() })),
        Verdict::Ask => {
            let approval = approval.ok_or_else(|| format!("policy asks now: {}", now.because()))?;
            if approval.binding != *binding {
                return Err("the approval is for something else".to_owned());
            }
            approval.holds(approvers, at)?;
            let shown = |rule: &str| approval.reasons.iter().any(|reason| reason.rule == rule);
            if let Some(new) = now.fired.iter().find(|fired| !shown(&fired.rule)) {
                return Err(format!("policy is stricter than what was approved: {}", new.because));
            }
            let names: Vec<&str> = approval.answers.iter().map(|one| one.principal.name.as_str()).collect();
            let why = approval.answers.iter().map(|one| one.comment.as_str()).collect::<Vec<_>>().join("; ");
            Ok(Approved::by_policy(checked, Approver::Person { name: names.join(", "), why }))
        }
    }
}
