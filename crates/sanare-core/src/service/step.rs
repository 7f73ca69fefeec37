//! The closed list of steps of a run, with what each hands on (S105). Each is stored before the next begins.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::action::Action;
use super::approval::{Approval, Binding};
use super::diagnosis::Diagnosis;
use super::gates::GateReport;
use super::job::Job;
use super::moment::Moment;
use super::policy::Case;
use super::proposal::{Advice, Proposal};
use super::target::Identity;
use super::text::Text;
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
        /// What is not offered, and why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        withheld: Vec<Withheld>,
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

/// An action on the application that is not offered (S13, S79, S80): people are told why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Withheld {
    /// The action.
    pub action: Action,
    /// Why it is not available.
    pub why: Text,
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
    /// What it was judged by, so that it can be judged again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<Box<Case>>,
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
    /// The job that it began, until that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Job>,
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
    /// Who asked for it, where that was a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
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
            Self::Evident { snapshot, withheld } => json!({ "snapshot": snapshot, "withheld": withheld }),
            Self::Diagnosed(step) => json!({ "diagnosis": step.diagnosis, "advice": step.advice }),
            Self::Proposed(step) => {
                let snapshot = &step.diagnosis.evidence_digest;
                let mut payload = json!({ "proposal": step.proposal, "seen": step.seen, "snapshot": snapshot });
                // What a person proposes has no step of a diagnosis before it.
                if let Some(by) = &step.proposed_by {
                    payload["proposed_by"] = json!(by);
                    payload["diagnosis"] = json!(step.diagnosis);
                }
                payload
            }
            Self::Judged(step) => {
                json!({ "proposal": step.proposed.proposal.id, "decision": step.decision, "case": step.case })
            }
            Self::Checked(step) => json!({ "gates": step.gates, "decision": step.decision, "binding": step.binding }),
            Self::Waiting(step, approval) => json!({ "approval": approval, "binding": step.binding.digest() }),
            Self::Approved(step, approval) => json!({ "approval": approval, "binding": step.binding.digest() }),
            Self::Prepared(step, receipt) => json!({ "receipt": receipt, "binding": step.binding.digest() }),
            Self::Applied(step) => {
                let mut payload =
                    json!({ "receipt": step.receipt, "acted_at": step.acted_at, "extended": step.extended });
                if let Some(job) = &step.job {
                    payload["job"] = json!(job);
                }
                payload
            }
            Self::Undoing(step) => {
                json!({ "receipt": step.applied.receipt, "undo": step.undo, "why": step.why, "by": step.by })
            }
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
    if let Some(changed) = checked.binding.changed(binding) {
        return Err(format!("{changed} since it was asked"));
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

#[cfg(test)]
mod tests {
    use super::{Checked, Proposed, admit};
    use crate::approval::Approver;
    use crate::hash::Digest;
    use crate::policy::{Decision, Fired, Verdict};
    use crate::service::GateReport;
    use crate::service::approval::{Answer, Approval, Binding, Decision as Said, Principal, tests::proposal};
    use crate::service::diagnosis::tests::diagnosis;
    use crate::service::moment::Moment;
    use crate::service::target::Identity;
    use crate::service::text::Text;
    use crate::service::word::ApprovalState;

    fn binding(policy: &[u8]) -> Binding {
        let of = Digest::of;
        Binding::of(&proposal(), 1, of(policy), of(b"configuration"), of(b"evidence"), &GateReport::default())
    }

    fn decision(verdict: Verdict, rules: &[&str]) -> Decision {
        let fired = |rule: &&str| Fired { rule: (*rule).to_owned(), verdict, because: format!("{rule} fires") };
        let rules_owned = rules.iter().map(|rule| (*rule).to_owned()).collect();
        Decision { verdict, rules: rules_owned, fired: rules.iter().map(fired).collect() }
    }

    fn checked() -> Checked {
        let proposed =
            Proposed { diagnosis: diagnosis(), proposal: proposal(), seen: Identity::default(), proposed_by: None };
        let decision = decision(Verdict::Ask, &["mode_ask", "cooldown"]);
        Checked { proposed, decision, gates: GateReport::default(), binding: binding(b"policy") }
    }

    /// Granted by ann at 10, over at 100, shown with the two rules of the checked proposal.
    fn granted() -> Approval {
        let mut approval = Approval {
            id: crate::id::Id::new("apr", 1, 1),
            binding: binding(b"policy"),
            proposal: proposal(),
            reasons: checked().decision.fired,
            asked_at: Moment::from_micros(0),
            expires_at: Moment::from_micros(100),
            count: 1,
            approvers: vec!["ann".to_owned()],
            proposed_by: None,
            answers: Vec::new(),
            state: ApprovalState::Waiting,
            ended: None,
        };
        let principal = Principal { name: "ann".to_owned(), groups: Vec::new(), person: true };
        let answer =
            Answer { principal, decision: Said::Approve, comment: Text::of("go"), at: Moment::from_micros(10) };
        let shown = approval.binding.digest();
        approval.answer(answer, &shown).expect("she may");
        approval
    }

    fn check(now: &Decision, binding: &Binding, approval: Option<&Approval>, approvers: &[&str], at: u64) -> String {
        let approvers: Vec<String> = approvers.iter().map(|name| (*name).to_owned()).collect();
        match admit(checked(), now, binding, approval, &approvers, Moment::from_micros(at)) {
            Ok(approved) => match approved.approver() {
                Approver::Policy { .. } => "by policy".to_owned(),
                Approver::Person { name, .. } => format!("by {name}"),
            },
            Err(why) => why,
        }
    }

    #[test]
    fn nothing_is_admitted_that_does_not_hold_now() {
        let (same, other) = (binding(b"policy"), binding(b"another policy"));
        let ask = |rules: &[&str]| decision(Verdict::Ask, rules);
        let (granted, asked) = (granted(), ask(&["mode_ask", "cooldown"]));
        let permit = decision(Verdict::Permit, &[]);
        assert_eq!(check(&permit, &same, None, &[], 50), "by policy");
        assert_eq!(check(&permit, &other, None, &[], 50), "the policy has changed since it was asked");
        assert_eq!(check(&asked, &same, Some(&granted), &["ann"], 50), "by ann");
        assert_eq!(check(&asked, &same, None, &["ann"], 50), "policy asks now: mode_ask fires; cooldown fires");
        assert_eq!(check(&ask(&["cooldown"]), &same, Some(&granted), &["ann"], 50), "by ann", "milder than shown");
        let stricter = ask(&["mode_ask", "windows"]);
        let why = "policy is stricter than what was approved: windows fires";
        assert_eq!(check(&stricter, &same, Some(&granted), &["ann"], 50), why);
        let refuse = decision(Verdict::Refuse, &["stopped"]);
        assert_eq!(check(&refuse, &same, Some(&granted), &["ann"], 50), "stopped fires");
        assert_eq!(
            check(&asked, &same, Some(&granted), &["bob"], 50),
            "who approved is not among the approvers any more"
        );
        let elsewhere = Approval { binding: other.clone(), ..granted.clone() };
        assert_eq!(check(&asked, &same, Some(&elsewhere), &["ann"], 50), "the approval is for something else");
        for state in ApprovalState::ALL.iter().filter(|state| **state != ApprovalState::Granted) {
            let ended = Approval { state: *state, ..granted.clone() };
            assert_eq!(check(&asked, &same, Some(&ended), &["ann"], 50), format!("the approval is {state}"));
        }
    }

    /// At each microsecond around the expiry: before it yes, from it on no.
    #[test]
    fn approved_in_time_and_done_after_the_expiry_cannot_happen() {
        let (granted, asked) = (granted(), decision(Verdict::Ask, &["mode_ask"]));
        for at in 90..110 {
            let admitted = check(&asked, &binding(b"policy"), Some(&granted), &["ann"], at);
            assert_eq!(admitted == "by ann", at < 100, "{at}: {admitted}");
        }
    }
}
