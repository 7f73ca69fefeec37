//! Questions to people, and their answers (S100 to S104).

use sanare_core::id::Id;
use sanare_core::port::StoreFault;
use sanare_core::service::approval::{Approval, Decision, Principal};
use sanare_core::service::word::ApprovalState;
use sanare_core::service::{Action, Application, Moment, Text};
use serde::Serialize;

use super::incidents::{NotFound, begins};
use crate::service::Healer;
use crate::wire::person;

/// A question, as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asked {
    /// Its id.
    pub id: String,
    /// The incident.
    pub incident: String,
    /// The service.
    pub application: Option<Application>,
    /// What is to be done.
    pub action: Action,
    /// To what.
    pub target: String,
    /// With which parameters.
    pub params: serde_json::Value,
    /// Why it.
    pub rationale: Text,
    /// What should be so afterwards.
    pub expected: Text,
    /// How it is taken back.
    pub undo: String,
    /// Why policy asks.
    pub reasons: Vec<String>,
    /// Until when it stands.
    pub expires: Moment,
    /// How many different persons are needed, and who has said yes.
    pub needed: u32,
    /// Who has said yes.
    pub approved_by: Vec<String>,
    /// Accounts and groups that may answer.
    pub approvers: Vec<String>,
    /// What an answer names, so that nothing else is approved than was shown.
    pub digest: String,
}

/// Why an answer was not taken.
#[derive(Debug, thiserror::Error)]
pub enum NotAnswered {
    /// There is no such question.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// It does not count.
    #[error(transparent)]
    Refused(#[from] sanare_engine::service::NotAnswered),
}

impl Healer {
    /// Questions that wait, oldest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn pending_approvals(&self) -> Result<Vec<Asked>, StoreFault> {
        let waiting = self.store().waiting_approvals()?;
        let now = Moment::from_millis(self.clock().now());
        let open = waiting.into_iter().filter(|one| one.state == ApprovalState::Waiting && now < one.expires_at);
        open.map(|one| self.asked(one)).collect()
    }

    fn asked(&self, approval: Approval) -> Result<Asked, StoreFault> {
        let incident = self.store().incident(&approval.binding.incident)?;
        let proposal = &approval.proposal;
        let yes = approval.answers.iter().filter(|one| one.decision == Decision::Approve);
        Ok(Asked {
            id: approval.id.to_string(),
            incident: approval.binding.incident.to_string(),
            application: incident.map(|incident| incident.application),
            action: proposal.action,
            target: proposal.target.as_ref().map(ToString::to_string).unwrap_or_default(),
            params: serde_json::json!(proposal.params),
            rationale: proposal.rationale.clone(),
            expected: proposal.expected_outcome.clone(),
            undo: proposal.undo.to_string(),
            reasons: approval.reasons.iter().map(|fired| format!("{}: {}", fired.rule, fired.because)).collect(),
            expires: approval.expires_at,
            needed: approval.count,
            approved_by: yes.map(|one| one.principal.name.clone()).collect(),
            approvers: approval.approvers.clone(),
            digest: approval.binding.digest().as_str().to_owned(),
        })
    }

    /// Says yes, as the account that runs this process. `shown` is the digest that was shown; without it what stands now
    /// is approved.
    ///
    /// # Errors
    /// [`NotAnswered`]; then nothing changed.
    pub fn approve(&self, id: &str, comment: &str, shown: Option<&str>) -> Result<ApprovalState, NotAnswered> {
        self.answered(id, Decision::Approve, comment, shown)
    }

    /// Says no.
    ///
    /// # Errors
    /// [`NotAnswered`]; then nothing changed.
    pub fn deny(&self, id: &str, comment: &str, shown: Option<&str>) -> Result<ApprovalState, NotAnswered> {
        self.answered(id, Decision::Deny, comment, shown)
    }

    /// The question that is meant: a person may name it, or the incident that it is about. One that was answered is
    /// found by its whole id.
    fn question(&self, given: &str) -> Result<Approval, NotFound> {
        let mut waiting = self.store().waiting_approvals()?;
        waiting.retain(|one| begins(&one.id, given) || begins(&one.binding.incident, given));
        match (waiting.pop(), waiting.len()) {
            (Some(one), 0) => Ok(one),
            (Some(_), more) => Err(NotFound::Ambiguous { given: given.to_owned(), count: more + 1 }),
            (None, _) => {
                let known = self.store().approval(&Id::from_text(given))?;
                known.ok_or_else(|| NotFound::Unknown(given.to_owned()))
            }
        }
    }

    fn answered(
        &self,
        id: &str,
        decision: Decision,
        comment: &str,
        shown: Option<&str>,
    ) -> Result<ApprovalState, NotAnswered> {
        let found = self.question(id)?;
        let current = found.binding.digest();
        let shown = shown.map_or(Some(current.clone()), sanare_core::hash::Digest::parse);
        // A text that is no digest is none that was shown.
        let shown = shown.unwrap_or_else(|| sanare_core::hash::Digest::of(b""));
        let account = person::current();
        let principal = Principal { name: account.name, groups: account.groups, person: true };
        let house = self.house();
        let answered = self.within(&house, |acting| acting.answer(&found.id, principal, decision, comment, &shown))?;
        Ok(answered.state)
    }
}
