//! One turn of one run: what it was read as, and the change that its step makes of it, in one transaction.

use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::port::store::Lease;
use sanare_core::redact::Redactor;
use sanare_core::service::moment::MINUTE;
use sanare_core::service::run::{Change, Message, MessageKind};
use sanare_core::service::step::{Cause, Closed, Escalating, Proposed, Step};
use sanare_core::service::word::{ClosedBy, Effect, ReceiptState, VerificationOutcome};
use sanare_core::service::{Action, Attempt, Incident, Moment, NotMade, Run, TargetKey, Text};
use serde_json::{Value as Json, json};

use super::World;

/// What a stage leads to.
#[derive(Clone, Debug)]
pub(crate) enum Next {
    /// The next step.
    Go(Step),
    /// The same step, looked at again after so many microseconds.
    Hold(u64),
}

/// One turn.
pub(crate) struct Turn<'a> {
    pub world: World<'a>,
    pub owner: &'a str,
    pub run: Run,
    pub incident: Incident,
    pub lease: Lease,
    /// What is stored with the step.
    pub change: Change,
    /// As they stand in the store, as far as this turn knows.
    read: (Run, Incident),
}

/// How often a step is stored anew because readings came in meanwhile.
const PATIENCE: usize = 20;

impl<'a> Turn<'a> {
    pub(crate) fn new(world: World<'a>, owner: &'a str, run: Run, incident: Incident, lease: Lease) -> Self {
        let read = (run.clone(), incident.clone());
        Self { world, owner, run, incident, lease, change: Change::default(), read }
    }

    pub(crate) fn now(&self) -> Moment {
        self.world.now()
    }

    /// Stores where the run is now, with everything that was put into the change. Readings that came in meanwhile are
    /// taken along: an act that was done must never lose its effect to a report.
    pub(crate) fn commit(&mut self) -> Result<(), NotMade> {
        let mut change = std::mem::take(&mut self.change);
        change.under.push(self.lease.clone());
        for _ in 0..PATIENCE {
            let made_from = self.read.0.revision;
            self.run.revision = made_from + 1;
            self.incident.step = self.run.step.name();
            self.incident.updated = self.now();
            change.now = self.world.clock.now();
            change.incidents = vec![self.incident.clone()];
            change.runs = vec![(self.run.clone(), Some(made_from))];
            match self.world.store.commit(&change) {
                Err(NotMade::Moved(what)) => self.take_along(&change, what)?,
                other => {
                    other?;
                    return self.stored();
                }
            }
        }
        Err(NotMade::Moved("readings come in faster than a step is stored".to_owned()))
    }

    fn stored(&mut self) -> Result<(), NotMade> {
        let before = std::mem::replace(&mut self.read, (self.run.clone(), self.incident.clone()));
        self.let_go(before.0.target)
    }

    /// Merges what detectors own with what the loop owns, if nothing but readings came in; what a decision rests on is
    /// never merged: then the step is made anew.
    fn take_along(&mut self, change: &Change, what: String) -> Result<(), NotMade> {
        let store = self.world.store;
        let (read_run, read) = &self.read;
        let fresh = store.run(&self.run.incident)?.zip(store.incident(&self.incident.id)?);
        let Some((fresh_run, fresh)) = fresh else { return Err(NotMade::Moved(what)) };
        let other = |one: &Incident| {
            (one.condition, one.flags.clone(), one.inhibited_by.clone())
                != (read.condition, read.flags.clone(), read.inhibited_by.clone())
        };
        let starts = change.receipts.iter().any(|(receipt, _)| receipt.state == ReceiptState::Started);
        let own_condition = self.incident.condition != read.condition;
        let only_readings = fresh_run.revision != read_run.revision && fresh_run.step == read_run.step;
        if !only_readings || (other(&fresh) && (starts || own_condition)) {
            return Err(NotMade::Moved(what));
        }
        let set: Vec<_> = self.incident.flags.difference(&read.flags).copied().collect();
        if !own_condition {
            (self.incident.condition, self.incident.cleared) = (fresh.condition, fresh.cleared);
        }
        let added: Vec<_> = change
            .observations
            .iter()
            .filter_map(|seen| self.incident.evidence.iter().find(|one| one.observation == seen.id).cloned())
            .collect();
        self.incident.evidence.clone_from(&fresh.evidence);
        added.into_iter().for_each(|one| self.incident.add_evidence(one));
        self.incident.severity = fresh.severity;
        self.incident.inhibited_by.clone_from(&fresh.inhibited_by);
        self.incident.group.clone_from(&fresh.group);
        self.incident.flags = fresh.flags.iter().copied().chain(set).collect();
        self.run.due = self.run.due.map(|due| fresh_run.due.map_or(due, |woken| due.min(woken)));
        self.read = (fresh_run, fresh);
        Ok(())
    }

    /// A target that the run has no more is free for others at once.
    fn let_go(&mut self, had: Option<TargetKey>) -> Result<(), NotMade> {
        if let Some(target) = had.filter(|had| self.run.target.as_ref() != Some(had)) {
            let store = self.world.store;
            if let Some(lease) = store.lease(&target_key(&target), self.owner, self.world.clock.now(), 1)? {
                store.release(&lease)?;
            }
        }
        Ok(())
    }

    /// Takes what a stage leads to, and stores it.
    pub(crate) fn take(&mut self, next: Next) -> Result<(), NotMade> {
        let now = self.now();
        match next {
            Next::Hold(micros) => {
                self.run.due = Some(now.plus(micros));
                self.commit()
            }
            Next::Go(step) => {
                self.note(step.name().word(), &step.payload());
                self.run.due = match &step {
                    Step::Closed(_) => None,
                    _ => Some(self.run.due.map_or(now, |due| due.max(now))),
                };
                if let Step::Closed(closed) = &step {
                    self.close(closed, now);
                }
                self.run.step = step;
                self.commit()
            }
        }
    }

    fn close(&mut self, closed: &Closed, now: Moment) {
        self.run.target = None;
        self.incident.outcome = Some(closed.outcome);
        self.incident.closed_by = closed.closed_by;
        self.incident.closed = Some(now);
    }

    /// A record of the ledger beside or of a step.
    pub(crate) fn note(&mut self, name: &str, payload: &Json) {
        let payload = Redactor::standard().json(payload);
        let at = self.world.clock.now();
        self.change.entries.push(Entry { incident: self.incident.id.clone(), step: name.to_owned(), at, payload });
    }

    /// A message to people, with the step.
    pub(crate) fn tell(&mut self, kind: MessageKind, body: &Json) {
        let key = format!("{kind}/{}/{}/{}", self.incident.id, self.run.revision, self.change.messages.len());
        self.tell_as(key, kind, body);
    }

    /// The same under a key of its own: a message of a key that was queued before is not sent again.
    pub(crate) fn tell_as(&mut self, key: String, kind: MessageKind, body: &Json) {
        let body = Redactor::standard().json(body);
        self.change.messages.push(Message { key, kind, incident: self.incident.id.clone(), body, at: self.now() });
    }

    /// Hands over to a person.
    pub(crate) fn escalate(&self, cause: Cause, why: impl Into<String>) -> Next {
        let critical = matches!(cause, Cause::UndoFailed | Cause::Worse | Cause::Unknown);
        Next::Go(Step::Escalating(Escalating { cause, why: why.into(), critical }))
    }

    /// Ends the run well, with nobody's help.
    pub(crate) fn healed_by_itself() -> Step {
        let why = "the symptom cleared by itself".to_owned();
        Step::Closed(Closed { outcome: sanare_core::outcome::Outcome::Healed, closed_by: Some(ClosedBy::Itself), why })
    }

    /// Records what was tried and what came of it.
    pub(crate) fn attempted(
        &mut self,
        action: Action,
        outcome: VerificationOutcome,
        summary: &str,
        done: Option<(Id, Effect)>,
        diagnostic: Option<String>,
        at: Moment,
    ) {
        let number = u32::try_from(self.incident.attempts.len()).unwrap_or(u32::MAX).saturating_add(1);
        let (receipt_id, effect) = done.map_or((None, None), |(id, effect)| (Some(id), Some(effect)));
        let summary = Text::of(summary);
        self.incident.attempts.push(Attempt { number, action, outcome, summary, effect, receipt_id, diagnostic, at });
    }

    /// What people see of a proposal: never an address, always what it touches and what is not known.
    pub(crate) fn shown(&self, proposed: &Proposed) -> Json {
        let (diagnosis, proposal) = (&proposed.diagnosis, &proposed.proposal);
        json!({
            "incident": self.incident.id, "application": self.incident.application, "component": self.incident.component,
            "kind": self.incident.kind, "severity": self.incident.severity, "since": self.incident.opened,
            "summary": self.incident.summary, "diagnosis": diagnosis.shown_summary(), "cause": diagnosis.probable_cause,
            "confidence": diagnosis.judged_confidence(), "not_known": diagnosis.missing_information,
            "evidence": diagnosis.evidence_used, "action": proposal.action, "does": proposal.action.guide().does,
            "target": proposal.target, "params": proposal.params, "undo": proposal.undo, "rationale": proposal.rationale,
        })
    }
}

/// The key of a target's lease.
pub(crate) fn target_key(target: &TargetKey) -> String {
    format!("target:{target}")
}

/// How long a run that cannot go on now rests.
pub(crate) const HOLD: u64 = MINUTE / 4;
