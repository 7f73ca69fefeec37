//! What detectors say enters here: an incident is opened, goes on, clears, or comes again (S9, S48, S51).

use std::collections::BTreeSet;

use sanare_core::id::Id;
use sanare_core::incident::Mode;
use sanare_core::ledger::Entry;
use sanare_core::outcome::Outcome;
use sanare_core::port::StoreFault;
use sanare_core::redact::Redactor;
use sanare_core::service::incident::{Link, LinkKind, fingerprint};
use sanare_core::service::moment::MINUTE;
use sanare_core::service::run::{Change, Message, MessageKind};
use sanare_core::service::word::{ClosedBy, Condition, IncidentFlag, Severity, Status, StepName, VerificationOutcome};
use sanare_core::service::{
    Application, Component, Evidence, Incident, IncidentKind, Moment, NotMade, Observation, Run,
};
use serde_json::json;

use super::Loop;

/// A symptom as a detector sees it now.
#[derive(Clone, Debug)]
pub struct Symptom {
    /// The service.
    pub application: Application,
    /// The part of it.
    pub component: Component,
    /// What is wrong.
    pub kind: IncidentKind,
    /// How bad it is, where the rule says so.
    pub severity: Option<Severity>,
    /// How it stands.
    pub condition: Condition,
    /// Labels that the rule tells apart by.
    pub labels: Vec<(String, String)>,
    /// What it is about, by names that are configured; empty where the kind says all.
    pub about: Vec<String>,
    /// Readings that show it, with how far out of bounds each is.
    pub evidence: Vec<(Observation, f64)>,
    /// Marks that detection sets: flapping, chronic, silenced.
    pub flags: BTreeSet<IncidentFlag>,
    /// The incident that explains it, where it opens one; afterwards [`Loop::mark`] says so.
    pub inhibited_by: Option<Id>,
}

/// What a report led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reported {
    /// Nothing yet: it is pending, or was never there.
    Nothing,
    /// An incident was opened.
    Opened(Id),
    /// One goes on.
    Updated(Id),
    /// One was reopened: it had been healed shortly before.
    Reopened(Id),
}

/// Firing again within this time after it was healed, it was not.
const STABLE: u64 = 30 * MINUTE;

impl Loop<'_> {
    /// Takes a symptom. Two reports at once open one incident.
    ///
    /// # Errors
    /// [`NotMade::Conflict`] for a reading whose id has another content, [`NotMade::Store`].
    pub fn report(&self, symptom: &Symptom) -> Result<Reported, NotMade> {
        self.report_with(symptom, None, &[])
    }

    /// The same, with when the first bad reading was true, where that is known, and what detection remembers of it, in one
    /// transaction.
    ///
    /// # Errors
    /// As [`Loop::report`].
    pub fn report_with(
        &self,
        symptom: &Symptom,
        since: Option<Moment>,
        states: &[(String, Option<Vec<u8>>)],
    ) -> Result<Reported, NotMade> {
        loop {
            match self.reported(symptom, since, states) {
                // Another report or a step came between: it is read again.
                Err(NotMade::Moved(_) | NotMade::Open(_)) => {}
                other => return other,
            }
        }
    }

    fn reported(
        &self,
        symptom: &Symptom,
        since: Option<Moment>,
        states: &[(String, Option<Vec<u8>>)],
    ) -> Result<Reported, NotMade> {
        let labels: Vec<(&str, &str)> =
            symptom.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let print = fingerprint(&symptom.application, symptom.kind, &symptom.component, &labels);
        let mut change = Change { now: self.world.clock.now(), ..Change::default() };
        change.states.extend_from_slice(states);
        change.observations.extend(symptom.evidence.iter().map(|(seen, _)| seen.clone()));
        let newest = self.world.store.newest_of(&print)?;
        let firing = symptom.condition == Condition::Firing;
        let reported = match newest {
            Some(incident) if incident.status() != Status::Closed || has_not_cleared(&incident) => {
                self.goes_on(incident, symptom, &mut change)?
            }
            Some(incident) if firing && self.is_relapse(&incident) => self.reopen(incident, symptom, &mut change)?,
            earlier if firing => {
                let at = self.world.now();
                let mut incident = Incident::open(
                    self.world.id("inc"),
                    symptom.application.clone(),
                    symptom.component.clone(),
                    symptom.kind,
                    symptom.severity,
                    at,
                );
                incident.fingerprint = print;
                incident.links.extend(earlier.map(|earlier| Link { kind: LinkKind::Earlier, id: earlier.id }));
                take(&mut incident, symptom);
                open_quietly(&mut incident, symptom);
                self.record(&incident, "opened", &json!({ "incident": incident, "since": since }), &mut change);
                change.runs.push((Run::new(&incident, at), None));
                let id = incident.id.clone();
                change.incidents.push(incident);
                Reported::Opened(id)
            }
            _ => Reported::Nothing,
        };
        self.world.store.commit(&change)?;
        Ok(reported)
    }

    /// An open incident takes the new readings and the condition; what a change of condition wakes goes on now.
    fn goes_on(&self, mut incident: Incident, symptom: &Symptom, change: &mut Change) -> Result<Reported, StoreFault> {
        let (before, now) = (incident.condition, self.world.now());
        take(&mut incident, symptom);
        incident.updated = now;
        let run = self.world.store.run(&incident.id)?;
        if incident.condition != before {
            let told = json!({ "from": before, "to": incident.condition });
            self.record(&incident, "condition", &told, change);
            if incident.condition == Condition::Cleared {
                incident.cleared = Some(now);
                if incident.step == StepName::Closed && incident.closed_by.is_none() {
                    incident.closed_by = Some(ClosedBy::Itself);
                    let looks = matches!(self.world.house.mode(&incident.application), Mode::Observe | Mode::DryRun);
                    if !looks && !incident.is(IncidentFlag::Silenced) {
                        change.messages.push(self.well_again(&incident));
                    }
                }
            }
            self.wake(&incident.id, change)?;
        }
        // Without a change of the run its revision says that nobody else changed the incident meanwhile.
        if change.runs.is_empty()
            && let Some(run) = run
        {
            let made_from = run.revision;
            change.runs.push((Run { revision: made_from + 1, ..run }, Some(made_from)));
        }
        let id = incident.id.clone();
        change.incidents.push(incident);
        Ok(Reported::Updated(id))
    }

    /// Who was told that it is ill is told that it is well.
    fn well_again(&self, incident: &Incident) -> Message {
        let body = json!({ "incident": incident.id, "application": incident.application, "kind": incident.kind,
            "summary": incident.summary, "since": incident.opened });
        Message {
            key: format!("{}/{}/{}", MessageKind::Healed, incident.id, self.world.clock.now()),
            kind: MessageKind::Healed,
            incident: incident.id.clone(),
            body: Redactor::standard().json(&body),
            at: self.world.now(),
        }
    }

    /// Whether what fires now had been called healed too early.
    fn is_relapse(&self, incident: &Incident) -> bool {
        incident.outcome == Some(Outcome::Healed)
            && incident.closed.is_some_and(|closed| self.world.now().since(closed) < STABLE)
    }

    fn reopen(&self, mut incident: Incident, symptom: &Symptom, change: &mut Change) -> Result<Reported, StoreFault> {
        let now = self.world.now();
        if incident.closed_by == Some(ClosedBy::Action)
            && let Some(last) = incident.attempts.iter_mut().rfind(|attempt| attempt.receipt_id.is_some())
        {
            last.outcome = VerificationOutcome::NotRecovered;
            last.summary = sanare_core::service::Text::of("it fell ill again within 30 minutes");
            self.count_relapse(last.receipt_id.as_ref(), change)?;
        }
        (incident.outcome, incident.closed_by, incident.closed, incident.cleared) = (None, None, None, None);
        incident.step = StepName::Opened;
        take(&mut incident, symptom);
        open_quietly(&mut incident, symptom);
        self.record(&incident, "reopened", &json!({ "attempts": incident.attempts.len() }), change);
        if let Some(run) = self.world.store.run(&incident.id)? {
            let made_from = run.revision;
            let fresh = Run { revision: made_from + 1, attempt: run.attempt, ..Run::new(&incident, now) };
            change.runs.push((fresh, Some(made_from)));
        }
        let id = incident.id.clone();
        change.incidents.push(incident);
        Ok(Reported::Reopened(id))
    }

    /// What was counted as recovered was not: in the limits, and in the figures of whoever proposed it.
    fn count_relapse(&self, receipt: Option<&Id>, change: &mut Change) -> Result<(), StoreFault> {
        let Some(receipt) = receipt else { return Ok(()) };
        let acts = self.world.store.acts(self.world.now().minus(sanare_core::service::moment::DAY))?;
        if let Some(act) = acts.into_iter().find(|act| act.receipt == *receipt) {
            change.acts.push(sanare_core::service::limits::PastAct { failed: true, ..act });
        }
        if let Some(measured) = self.world.store.measured_of(receipt)? {
            let outcome = VerificationOutcome::NotRecovered;
            change.measured.push((receipt.clone(), sanare_core::service::confidence::Measured { outcome, ..measured }));
        }
        Ok(())
    }

    fn record(&self, incident: &Incident, step: &str, payload: &serde_json::Value, change: &mut Change) {
        change.entries.push(Entry {
            incident: incident.id.clone(),
            step: step.to_owned(),
            at: self.world.clock.now(),
            payload: Redactor::standard().json(payload),
        });
    }
}

/// What a person closed although it fires is theirs until it has cleared: it does not come again before.
fn has_not_cleared(incident: &Incident) -> bool {
    incident.closed_by == Some(ClosedBy::Person) && incident.condition != Condition::Cleared
}

fn take(incident: &mut Incident, symptom: &Symptom) {
    if !symptom.about.is_empty() && symptom.condition == Condition::Firing {
        let Incident { application, component, kind, .. } = &*incident;
        let about = symptom.about.join(", ");
        incident.summary =
            sanare_core::service::Text::of(&format!("{application}/{component}: {}: {about}", kind.line().opens));
    }
    if symptom.condition != Condition::Pending {
        incident.condition = symptom.condition;
    }
    if let Some(severity) = symptom.severity {
        incident.severity = incident.severity.max(severity);
    }
    for (seen, badness) in &symptom.evidence {
        incident.add_evidence(Evidence { observation: seen.id.clone(), badness: *badness });
    }
    for flag in [IncidentFlag::Flapping, IncidentFlag::Chronic] {
        if symptom.flags.contains(&flag) {
            incident.flags.insert(flag);
        }
    }
}

/// What opens, or opens again, is quiet from the first moment where it is to be.
fn open_quietly(incident: &mut Incident, symptom: &Symptom) {
    match symptom.flags.contains(&IncidentFlag::Silenced) {
        true => drop(incident.flags.insert(IncidentFlag::Silenced)),
        false => drop(incident.flags.remove(&IncidentFlag::Silenced)),
    }
    incident.inhibited_by.clone_from(&symptom.inhibited_by);
}
