//! A person's answer to a question, and what makes all questions void (S97, S102, S104).

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::port::StoreFault;
use sanare_core::redact::Redactor;
use sanare_core::service::approval::{Answer, Decision, NotCounted, Principal};
use sanare_core::service::run::Change;
use sanare_core::service::word::ApprovalState;
use sanare_core::service::{Application, NotMade, Text};
use serde_json::json;

use super::Loop;

/// How a question stands after an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// How.
    pub state: ApprovalState,
}

/// Why an answer was not taken.
#[derive(Debug, thiserror::Error)]
pub enum NotAnswered {
    /// There is no such question.
    #[error("there is no such approval")]
    Unknown,
    /// It does not count.
    #[error(transparent)]
    NotCounted(#[from] NotCounted),
    /// Somebody else answered at the same moment: look again.
    #[error("it was answered at the same moment; look again")]
    AtOnce,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

impl Loop<'_> {
    /// Takes an answer: one transaction with its record, and the run goes on at the next tick.
    ///
    /// # Errors
    /// [`NotAnswered`]; then nothing changed.
    pub fn answer(
        &self,
        approval: &Id,
        principal: Principal,
        decision: Decision,
        comment: &str,
        shown: &Digest,
    ) -> Result<Answered, NotAnswered> {
        let store = self.world.store;
        let mut approval = store.approval(approval)?.ok_or(NotAnswered::Unknown)?;
        let before = approval.clone();
        let answer = Answer { principal, decision, comment: Text::of(comment), at: self.world.now() };
        let (who, comment) = (answer.principal.name.clone(), answer.comment.clone());
        let counted = approval.answer(answer, shown);
        if approval == before {
            return Ok(Answered { state: counted? });
        }
        let payload = json!({ "approval": approval.id, "by": who, "decision": decision, "comment": comment,
            "state": approval.state });
        let mut change = Change { now: self.world.clock.now(), ..Change::default() };
        change.entries.push(Entry {
            incident: approval.binding.incident.clone(),
            step: "answered".to_owned(),
            at: change.now,
            payload: Redactor::standard().json(&payload),
        });
        self.wake(&approval.binding.incident, &mut change)?;
        change.approvals.push((approval, Some(before.state)));
        match store.commit(&change) {
            Ok(_) => Ok(Answered { state: counted? }),
            Err(NotMade::Store(fault)) => Err(fault.into()),
            Err(_) => Err(NotAnswered::AtOnce),
        }
    }

    /// Voids every question of an application, or of all, because nothing may be begun any more: those that wait, and
    /// those that are answered and not used.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn void_approvals(&self, application: Option<&Application>, why: &str) -> Result<usize, StoreFault> {
        let mut voided = 0;
        for mut approval in self.world.store.open_approvals()? {
            let incident = approval.binding.incident.clone();
            let run = self.world.store.run(&incident)?;
            if application.is_some_and(|wanted| run.is_none_or(|run| run.application != *wanted)) {
                continue;
            }
            let before = approval.state;
            approval.void(why, self.world.now());
            let mut change = Change { now: self.world.clock.now(), ..Change::default() };
            self.wake(&incident, &mut change)?;
            change.entries.push(Entry {
                incident,
                step: "voided".to_owned(),
                at: change.now,
                payload: Redactor::standard().json(&json!({ "approval": approval.id, "was": before, "why": why })),
            });
            change.approvals.push((approval, Some(before)));
            match self.world.store.commit(&change) {
                Ok(_) => voided += 1,
                Err(NotMade::Store(fault)) => return Err(fault),
                // It was answered or used at the same moment; what was used is an act that is followed to its end.
                Err(_) => {}
            }
        }
        Ok(voided)
    }

    /// Ends questions whose time is over and whose run does not go on: a person holds it, or a worker that is gone has its
    /// service. Nothing waits past its expiry for that (S102); what follows is the run's, once it goes on.
    pub(super) fn expire_approvals(&self) -> Result<(), StoreFault> {
        for mut approval in self.world.store.open_approvals()? {
            let (before, now) = (approval.state, self.world.now());
            if !approval.expire(now) {
                continue;
            }
            let mut change = Change { now: self.world.clock.now(), ..Change::default() };
            change.entries.push(Entry {
                incident: approval.binding.incident.clone(),
                step: "expired".to_owned(),
                at: change.now,
                payload: Redactor::standard().json(&json!({ "approval": approval.id, "was": before })),
            });
            change.approvals.push((approval, Some(before)));
            // Else whoever has it has ended it at the same moment.
            if let Err(NotMade::Store(fault)) = self.world.store.commit(&change) {
                return Err(fault);
            }
        }
        Ok(())
    }

    /// Makes a run due now.
    pub(super) fn wake(&self, incident: &Id, change: &mut Change) -> Result<(), StoreFault> {
        if let Some(mut run) = self.world.store.run(incident)?.filter(|run| run.due.is_some()) {
            let made_from = run.revision;
            run.revision += 1;
            run.due = Some(self.world.now());
            change.runs.push((run, Some(made_from)));
        }
        Ok(())
    }
}
