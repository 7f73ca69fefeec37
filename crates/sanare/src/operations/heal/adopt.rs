//! Adoption: a failure whose code has an accepted repair takes that text (C117). No proposer is asked and no second
//! approval; the trial on its own arguments, the stop switch and the bounds of the project hold as ever.
//!
//! A repair is this failure's when fingerprint and code are equal. It is also taken when the file holds it already: then
//! it is the owner's source of today that this process has not loaded, and the trial says whether it helps here.

use std::path::Path;

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::incident::{Mode, ProposerName, Rerun, Write};
use sanare_core::ledger::Entry;
use sanare_core::outcome::{Outcome, Reason};
use sanare_core::port::target::Placed;
use sanare_core::port::{Clock as _, RanState, Store, Subject, SubjectFault, Target as _, TargetFault};
use sanare_core::proposal::{Candidate, Tier};
use sanare_core::receipt::{Receipt, ReceiptState};
use sanare_core::redact::Redactor;
use serde_json::{Value as Json, json};

use super::Desk;
use crate::report::Report;
use crate::wire::target::{SourceTarget, changed_lines, restore, without_repair, write};

/// How often a file that changes under the hand is written anew.
const WRITES: u32 = 5;

/// An accepted repair with what it takes to put it in force here.
struct Adoption<'a> {
    desk: &'a Desk<'a>,
    receipt: Receipt,
    /// The incident of the repair, as its records tell it.
    repair: Report,
    module: String,
    /// The change of the file; none where it holds the repair already or is not to be written.
    change: Option<Placed>,
}

/// Takes an accepted repair over, if there is one and it returns on this call. `None`: there is none for this failure.
pub(super) fn adopt(desk: &Desk<'_>, subject: &mut dyn Subject) -> Option<Report> {
    let rules = &desk.on.incident.rules;
    let allowed = matches!(rules.mode, Mode::Auto | Mode::Ask) && !desk.on.refused_by_settings;
    if !allowed || desk.on.incident.code.is_empty() || desk.request.unsupported.is_some() || desk.request.in_memory {
        return None;
    }
    let receipts = desk.on.store.receipts_of_code(&desk.on.incident.code).ok()?;
    let mut accepted = receipts.into_iter().filter(|receipt| receipt.state == ReceiptState::Done);
    let adoption = accepted.find_map(|receipt| Adoption::of(desk, receipt))?;
    let rest = adoption.rest_key();
    if desk.on.breaker.rests(desk.on.store, &rest, desk.on.clock.now()) {
        return None;
    }
    // A host that breaks here leaves the call to the ordinary way, where that is recorded.
    let taken = adoption.take(subject).ok()?;
    if taken.is_none() {
        desk.on.breaker.begin_rest(desk.on.store, &rest, desk.on.clock.now());
    }
    taken
}

/// Under which key a failure rests from adopting this repair, once that did not help it.
pub(crate) fn rest_key(fingerprint: &str, repair: &Id) -> String {
    format!("{fingerprint} adopts {repair}")
}

impl<'a> Adoption<'a> {
    fn of(desk: &'a Desk<'a>, receipt: Receipt) -> Option<Self> {
        let incident = desk.on.incident;
        if receipt.function != incident.function || Path::new(&receipt.path) != desk.request.path {
            return None;
        }
        let repair = accepted(desk.on.store, &receipt)?;
        let target = SourceTarget::read(desk.target_settings()).ok()?;
        if target.stopped() {
            return None;
        }
        let texts = target.function_texts();
        if texts.contains(&receipt.text) {
            let module = target.module().to_owned();
            return Some(Self { desk, receipt, repair, module, change: None });
        }
        if receipt.fingerprint != incident.fingerprint.as_str() || !desk.holds_running_code(&texts) {
            return None;
        }
        let placed =
            target.place(&as_candidate(&receipt, &repair)).ok().filter(|placed| placed.text == receipt.text)?;
        let in_file = incident.rules.write == Write::File;
        if in_file && target.unwritable().is_some() {
            return None;
        }
        let module = placed.module.clone();
        Some(Self { desk, receipt, repair, module, change: in_file.then_some(placed) })
    }

    fn rest_key(&self) -> String {
        rest_key(self.desk.on.incident.fingerprint.as_str(), &self.receipt.incident)
    }

    fn take(&self, subject: &mut dyn Subject) -> Result<Option<Report>, SubjectFault> {
        if subject.trial(&self.module, None)?.state != RanState::Returned || subject.abandoned() {
            return Ok(None);
        }
        let note = json!({ "process": self.desk.on.incident.process, "writes": self.change.is_some() });
        if self.record("adopted", &note, None).is_err() {
            return Ok(None);
        }
        let Some(written) = self.write() else { return Ok(None) };
        if let Some(why) = subject.swap(&self.module)? {
            let detail = format!("repaired in the file; the running function keeps its old code: {why}");
            return Ok(Some(self.report("applied", "", Reason::Unconfirmed, detail)));
        }
        if self.change.is_none()
            && let Some(base) = without_repair(Path::new(&self.receipt.path), &self.receipt)
        {
            subject.ran_from(&base);
        }
        let unsafe_because = match self.desk.on.incident.rules.rerun {
            Rerun::Never => Some("rerun is never".to_owned()),
            Rerun::Always => None,
            Rerun::Safe => subject.rerun_unsafe()?,
        };
        if let Some(why) = unsafe_because {
            let detail = format!("repaired, not re-run: {why}");
            return Ok(Some(self.report("applied", "", Reason::RerunUnsafe, detail)));
        }
        let returned = subject.rerun()?;
        let Err(failure) = returned else {
            self.confirm();
            self.desk.on.breaker.end_rest(self.desk.on.store, self.desk.on.incident.fingerprint.as_str());
            let detail = format!("adopted the repair of {}", self.receipt.incident);
            return Ok(Some(self.report("closed", "healed", Reason::Ok, detail)));
        };
        let lines = changed_lines(Path::new(&self.receipt.path), &self.receipt);
        let inside = failure.frames.iter().any(|frame| {
            frame.function == self.receipt.function
                && lines.is_some_and(|(first, last)| (first..=last).contains(&frame.line))
        });
        subject.unswap()?;
        self.take_back(written, inside);
        let detail = format!("the adopted repair failed on this call: {}: {}", failure.class, failure.message);
        self.desk.on.breaker.begin_rest(self.desk.on.store, &self.rest_key(), self.desk.on.clock.now());
        Ok(Some(self.report("closed", "rolled_back", Reason::RerunFailed, detail)))
    }

    /// Writes the file where it still has the base. `None`: it could not be written, and is as it was. Others may adopt at
    /// the same moment, so that the text is there already, or write another part of the file.
    fn write(&self) -> Option<Option<Receipt>> {
        let Some(mut placed) = self.change.clone() else { return Some(None) };
        let path = Path::new(&self.receipt.path);
        for _ in 0..WRITES {
            let receipt = Receipt {
                before: placed.before,
                after: placed.after,
                original: placed.original,
                replacement: placed.replacement,
                start: placed.start,
                ..self.receipt.clone()
            };
            match write(path, &receipt) {
                Ok(()) => return Some(Some(receipt)),
                Err(TargetFault::Changed) => {}
                Err(_) => return None,
            }
            let now = SourceTarget::read(self.desk.target_settings()).ok()?;
            let texts = now.function_texts();
            if texts.contains(&self.receipt.text) {
                return Some(None);
            }
            if !self.desk.holds_running_code(&texts) {
                return None;
            }
            placed = now.place(&as_candidate(&self.receipt, &self.repair)).ok()?;
        }
        None
    }

    /// A call returned under the repair: what stood unconfirmed is healed now (C98).
    fn confirm(&self) {
        if self.is_unconfirmed() {
            let payload = json!({ "outcome": Outcome::Healed, "reason": Reason::Ok,
                "detail": self.repair.changes.join("; "), "declined": [] });
            let _ = self.record("closed", &payload, Some(ReceiptState::Done));
        }
    }

    /// The call failed under the repair. What this process wrote goes back; an unconfirmed repair that failed within its
    /// own lines goes back whoever wrote it (C98).
    fn take_back(&self, written: Option<Receipt>, inside: bool) {
        let unconfirmed = inside && self.is_unconfirmed();
        let receipt = match (written, unconfirmed) {
            (Some(written), _) => written,
            (None, true) => self.receipt.clone(),
            (None, false) => return,
        };
        let restored = restore(Path::new(&receipt.path), &receipt).is_ok();
        if unconfirmed && restored {
            let payload = json!({ "outcome": Outcome::RolledBack, "reason": Reason::RerunFailed,
                "detail": "a later call failed within the repaired lines", "declined": [] });
            let _ = self.record("closed", &payload, Some(ReceiptState::Undone));
        }
    }

    fn is_unconfirmed(&self) -> bool {
        accepted(self.desk.on.store, &self.receipt).is_some_and(|report| report.status == "applied")
    }

    fn record(
        &self,
        step: &str,
        payload: &Json,
        settle: Option<ReceiptState>,
    ) -> Result<(), sanare_core::port::StoreFault> {
        let entry = Entry {
            incident: self.receipt.incident.clone(),
            step: step.to_owned(),
            at: self.desk.on.clock.now(),
            payload: Redactor::standard().json(payload),
        };
        match settle {
            Some(state) => self.desk.on.store.append_and_settle(&entry, state).map(drop),
            None => self.desk.on.store.append(&entry).map(drop),
        }
    }

    fn report(&self, status: &str, outcome: &str, reason: Reason, detail: String) -> Report {
        Report {
            fingerprint: self.desk.on.incident.fingerprint.as_str().to_owned(),
            status: status.to_owned(),
            outcome: outcome.to_owned(),
            reason: reason.code().to_owned(),
            rerun: if outcome == "healed" { "done".to_owned() } else { detail.clone() },
            summary: detail,
            ..self.repair.clone()
        }
    }
}

/// The report of a repair that is in force by its records, if the text in the store is the one that they name. A row that
/// was altered by hand is none.
pub(super) fn accepted(store: &dyn Store, receipt: &Receipt) -> Option<Report> {
    let records = store.records(&receipt.incident).ok()?;
    let text = Digest::of(receipt.text.as_bytes());
    let named = records.iter().rev().find(|record| matches!(record.step.as_str(), "prepared" | "waiting"))?;
    if records.iter().any(|record| record.hash != record.expected_hash()) || named.json()["text"] != text.as_str() {
        return None;
    }
    let report = Report::from_records(&receipt.incident, &records);
    (report.outcome == "healed" || report.status == "applied").then_some(report)
}

fn as_candidate(receipt: &Receipt, repair: &Report) -> Candidate {
    let proposer = if repair.proposer == "model" { ProposerName::Model } else { ProposerName::Drift };
    Candidate {
        proposer,
        function: receipt.text.clone(),
        tier: Tier::C,
        summary: repair.changes.clone(),
        evidence: Vec::new(),
        mappings: Vec::new(),
        twins: Vec::new(),
        expected_names: Vec::new(),
        lock: Vec::new(),
        seen: Vec::new(),
        confidence: repair.confidence,
    }
}
