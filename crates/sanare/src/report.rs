//! The report of an incident, rendered from the ledger alone (C99, C100).

mod next;
mod text;

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::ledger::Record;
use sanare_core::model::usage::Usage;
use sanare_core::outcome::{Outcome, Reason, Status};
use sanare_core::port::{Store, StoreFault};
use sanare_core::redact::Redactor;
use sanare_core::step::Step;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

pub use text::{refusal_lines, utc};

/// The one result object of all fronts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The incident's id.
    pub id: String,
    /// `incident`, or `capture` for what the program itself asked to keep.
    pub kind: String,
    /// Equal failures share it.
    pub fingerprint: String,
    /// `open`, `waiting`, `applied`, `closed`.
    pub status: String,
    /// `healed`, `rolled_back`, `escalated`, `refused`; empty until closed.
    pub outcome: String,
    /// The reason code; empty until there is one.
    pub reason: String,
    /// What happened, in one line for people.
    pub summary: String,
    /// The target's qualified name.
    pub function: String,
    /// The target's file, relative to the project.
    pub path: String,
    /// Line of the failing statement.
    pub line: u64,
    /// Class and message of the error, redacted.
    pub error: String,
    /// The class of the failure (C26).
    pub classification: String,
    /// Who made the last candidate.
    pub proposer: String,
    /// Its tier.
    pub tier: String,
    /// How sure its maker is, from 0 to 1; `None` for the offline engine, which has tiers.
    pub confidence: Option<f64>,
    /// Whether no oracle has said yes to it.
    pub unverified: bool,
    /// What changed, one line a layer.
    pub changes: Vec<String>,
    /// The evidence for it.
    pub evidence: Vec<String>,
    /// The last diff.
    pub diff: String,
    /// Every candidate: number, proposer, why it was rejected.
    pub attempts: Vec<Attempt>,
    /// The last gate report, as stored.
    pub gates: Json,
    /// `done`, or why the call was not run again; empty where it did not come to that.
    pub rerun: String,
    /// Refusal reports of the proposers (C59).
    pub refusals: Json,
    /// What the models cost: calls, seconds, tokens, as stored; `null` without one.
    pub usage: Json,
    /// Who approved or said no, why, what it was bound to and until when an answer counts; `null` where nobody was asked.
    pub approval: Json,
    /// Issues, pull requests and messages that went out for it.
    pub delivery: Vec<Json>,
    /// How often this failure was seen, this time included.
    pub occurrences: u64,
    /// What to do next, one line each.
    pub next: Vec<String>,
    /// Usage of the calls since the last candidate.
    #[serde(skip)]
    pub asked: Usage,
    /// How many attempts there were before the target that the incident has now.
    #[serde(skip)]
    pub before: usize,
    /// Whether a decorated function further out may go on with the incident (C119).
    #[serde(skip)]
    pub goes_outward: bool,
    /// Milliseconds since 1970.
    pub created_at: u64,
    /// Milliseconds since 1970; 0 until closed.
    pub closed_at: u64,
}

/// One candidate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// From 1.
    pub number: u64,
    /// Who made it.
    pub proposer: String,
    /// Hash of its text, as recorded.
    pub candidate: String,
    /// Its diff, where it came to that.
    pub diff: String,
    /// What the gates said, as stored.
    pub gates: Json,
    /// `gate/check: reason`, or empty when it went through.
    pub rejected_because: String,
    /// What asking the model cost, as stored; `null` without one.
    pub usage: Json,
}

impl Report {
    /// Renders the records of one incident.
    pub fn from_records(id: &Id, records: &[Record]) -> Self {
        let mut report =
            Self { id: id.to_string(), kind: "incident".to_owned(), status: "open".to_owned(), ..Self::default() };
        for record in records {
            report.take(record);
        }
        report.occurrences = report.occurrences.max(1);
        report.next = next::steps(&report);
        report
    }

    /// The report of an incident in a store, with how often its failure was seen.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn of(store: &dyn Store, id: &Id) -> Result<Self, StoreFault> {
        let mut report = Self::from_records(id, &store.records(id)?);
        if !report.fingerprint.is_empty() {
            report.occurrences = report.occurrences.max(store.rest(&report.fingerprint)?.occurrences);
        }
        Ok(report)
    }

    /// With the end that its ledger lacks: the store that failed may not have taken the closing record either, and a
    /// report that says nothing would leave its reader without the reason.
    pub(crate) fn with_end(mut self, last: &Step, at: u64) -> Self {
        if matches!(last, Step::Closed(_)) && self.outcome.is_empty() {
            self.closed(&Redactor::standard().json(&last.payload()).into_inner(), at);
            self.next = next::steps(&self);
        }
        self
    }

    fn take(&mut self, record: &Record) {
        let payload = record.json();
        match record.step.as_str() {
            "opened" => self.opened(&payload["incident"], record.at),
            "continued" => self.continued(&payload["incident"]),
            "evident" => {
                let error = &payload["error"];
                self.error = format!("{}: {}", text(&error["class"]), text(&error["message"]));
            }
            "diagnosed" => self.diagnosed(&payload),
            "proposed" => self.proposed(&payload),
            "checked" => {
                self.gates = payload["gates"].clone();
                self.diff = text(&payload["diff"]);
                self.unverified = self.proposer == "model" && !oracle(&self.gates);
                if let Some(last) = self.attempts.last_mut() {
                    last.gates.clone_from(&self.gates);
                    last.diff.clone_from(&self.diff);
                }
            }
            "answered" => self.answered_by(&payload["approver"]),
            "approved" => {
                self.status = "open".to_owned();
                self.answered_by(&payload["approver"]);
            }
            "model_call" => self.model_call(&payload),
            "waiting" => self.waiting(&payload),
            "applied" => self.applied(&payload),
            "undoing" => self.rerun = format!("failed: {}", text(&payload["detail"])),
            "closed" => self.closed(&payload, record.at),
            "captured" => self.captured(&payload, record.at),
            _ => {}
        }
    }

    fn waiting(&mut self, payload: &Json) {
        self.status = "waiting".to_owned();
        let why: Vec<String> = payload["decision"]["fired"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|fired| fired["verdict"] == payload["decision"]["verdict"])
            .map(|fired| text(&fired["because"]))
            .collect();
        let why = if why.is_empty() { texts(&payload["decision"]["rules"]) } else { why };
        let change = match self.changes.is_empty() {
            true => String::new(),
            false => format!("proposed: {}; ", self.changes.join("; ")),
        };
        self.summary = format!("{change}a person is asked: {}", why.join("; "));
        self.approval = json!({
            "digest": payload["digest"], "expires_at": payload["expires_at"], "answers": [], "state": "waiting",
        });
    }

    /// Adds an answer; one by policy stands alone.
    fn answered_by(&mut self, approver: &Json) {
        if approver["by"] == "person" {
            if let Some(answers) = self.approval["answers"].as_array_mut()
                && !answers.iter().any(|known| known["name"] == approver["name"])
            {
                answers.push(approver.clone());
            }
            if let Some(approval) = self.approval.as_object_mut() {
                approval.insert("by".to_owned(), json!("person"));
                approval.insert("name".to_owned(), approver["name"].clone());
                approval.insert("why".to_owned(), approver["why"].clone());
                approval.insert("state".to_owned(), json!("approved"));
            }
            return;
        }
        self.approval = approver.clone();
    }

    fn opened(&mut self, incident: &Json, at: u64) {
        self.fingerprint = text(&incident["fingerprint"]);
        self.function = text(&incident["function"]);
        self.path = text(&incident["path"]);
        self.line = incident["line"].as_u64().unwrap_or(0);
        self.created_at = at;
    }

    /// Goes on with an outer function. What it was and what was tried inside stays told.
    fn continued(&mut self, incident: &Json) {
        let (fingerprint, created_at) = (self.fingerprint.clone(), self.created_at);
        self.opened(incident, created_at);
        self.fingerprint = fingerprint;
        self.status = "open".to_owned();
        self.before = self.attempts.len();
        for said in [&mut self.outcome, &mut self.reason, &mut self.summary, &mut self.rerun] {
            said.clear();
        }
        self.closed_at = 0;
    }

    fn diagnosed(&mut self, payload: &Json) {
        self.classification = text(&payload["class"]);
        self.refusals = payload["declined"].clone();
        let of_this = self.attempts.iter_mut().skip(self.before);
        for (attempt, rejection) in of_this.zip(payload["rejections"].as_array().into_iter().flatten()) {
            attempt.rejected_because = format!("{}: {}", text(&rejection["check"]), text(&rejection["reason"]));
        }
        let gates = &payload["gates"];
        if let Some(last) = self.attempts.last_mut()
            && gates.as_array().is_some_and(|checks| !checks.is_empty())
            && last.gates.is_null()
        {
            last.gates.clone_from(gates);
            self.gates.clone_from(gates);
        }
    }

    fn proposed(&mut self, payload: &Json) {
        self.proposer = text(&payload["proposer"]);
        self.tier = text(&payload["tier"]);
        self.changes = texts(&payload["summary"]);
        self.evidence = texts(&payload["evidence"]);
        if payload["declined"].as_array().is_some_and(|declined| !declined.is_empty()) {
            self.refusals = payload["declined"].clone();
        }
        let number = payload["attempt"].as_u64().unwrap_or(0);
        self.confidence = payload["confidence"].as_f64();
        self.attempts.push(Attempt {
            number,
            proposer: self.proposer.clone(),
            candidate: payload["function"]
                .as_str()
                .map(|text| Digest::of(text.as_bytes()).to_string())
                .unwrap_or_default(),
            usage: usage_json(&std::mem::take(&mut self.asked)),
            ..Attempt::default()
        });
    }

    fn model_call(&mut self, payload: &Json) {
        let call: Usage = serde_json::from_value(payload["usage"].clone()).unwrap_or_default();
        self.asked.add(&call);
        let mut all: Usage = serde_json::from_value(self.usage.clone()).unwrap_or_default();
        all.add(&call);
        self.usage = usage_json(&all);
    }

    fn applied(&mut self, payload: &Json) {
        self.status = "applied".to_owned();
        let standing = &payload["standing"];
        if !standing.is_null() {
            self.reason = text(&standing["reason"]);
            self.summary = text(&standing["detail"]);
            self.rerun = text(&standing["detail"]);
        }
    }

    fn closed(&mut self, payload: &Json, at: u64) {
        self.status = "closed".to_owned();
        self.outcome = text(&payload["outcome"]);
        self.reason = text(&payload["reason"]);
        self.summary = text(&payload["detail"]);
        self.closed_at = at;
        if let (Some(approval), false) = (self.approval.as_object_mut(), payload["answer"].is_null()) {
            for name in ["by", "name", "why"] {
                approval.insert(name.to_owned(), payload["answer"][name].clone());
            }
        }
        if self.approval["state"] == "waiting" {
            let state = match self.reason.as_str() {
                "denied" => "denied",
                "expired" => "expired",
                _ => "voided",
            };
            self.approval["state"] = json!(state);
        }
        if self.outcome == "healed" {
            self.rerun = "done".to_owned();
        }
        if payload["declined"].as_array().is_some_and(|declined| !declined.is_empty()) {
            self.refusals = payload["declined"].clone();
        }
    }

    fn captured(&mut self, payload: &Json, at: u64) {
        self.kind = "capture".to_owned();
        self.status = "closed".to_owned();
        self.summary = text(&payload["label"]);
        self.function = text(&payload["function"]);
        self.path = text(&payload["path"]);
        self.line = payload["line"].as_u64().unwrap_or(0);
        (self.created_at, self.closed_at) = (at, at);
    }

    /// Status and outcome as their types; `None` where the record is not complete.
    pub fn ended(&self) -> Option<(Status, Option<Outcome>, Option<Reason>)> {
        let read = |word: &str| json!(word);
        Some((
            serde_json::from_value(read(&self.status)).ok()?,
            serde_json::from_value(read(&self.outcome)).ok(),
            serde_json::from_value(read(&self.reason)).ok(),
        ))
    }

    /// Status, outcome and reason in a few words.
    pub fn headline(&self) -> String {
        if self.kind == "capture" {
            return if self.summary.is_empty() { "capture".to_owned() } else { format!("capture: {}", self.summary) };
        }
        let state = if self.outcome.is_empty() { &self.status } else { &self.outcome };
        match self.reason.as_str() {
            "" | "ok" => state.clone(),
            reason => format!("{state}: {reason}"),
        }
    }
}

/// Usage with its line for people; null without a call.
fn usage_json(usage: &Usage) -> Json {
    if usage.calls == 0 {
        return Json::Null;
    }
    let mut json = json!(usage);
    json["line"] = json!(usage.line());
    json
}

fn oracle(gates: &Json) -> bool {
    gates.as_array().into_iter().flatten().any(|gate| {
        gate["answer"] == "passed"
            && matches!(gate["name"].as_str(), Some("calls" | "examples" | "contract" | "verify"))
    })
}

pub(crate) fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

fn texts(json: &Json) -> Vec<String> {
    json.as_array().into_iter().flatten().map(text).collect()
}

#[cfg(test)]
mod tests {
    use sanare_core::id::Id;
    use sanare_core::outcome::{Outcome, Reason};
    use sanare_core::step::{Closed, Step};

    use super::Report;

    fn closed(reason: Reason, detail: &str) -> Step {
        Step::Closed(Closed { outcome: Outcome::Escalated, reason, detail: detail.to_owned(), declined: Vec::new() })
    }

    #[test]
    fn an_end_that_could_not_be_recorded_is_told_all_the_same() {
        let id = Id::new("inc", 1_000, 7);
        let end = closed(Reason::Internal, "the store is in use by another process");
        let report = Report::from_records(&id, &[]).with_end(&end, 2_000);
        assert_eq!((report.status.as_str(), report.outcome.as_str()), ("closed", "escalated"));
        assert_eq!(report.summary, "the store is in use by another process");
        // What is recorded stands.
        assert_eq!(report.clone().with_end(&closed(Reason::Cooldown, "something else"), 3_000), report);
        let open = Report::from_records(&id, &[]);
        assert_eq!(open.clone().with_end(&Step::Evident, 2_000), open);
    }
}
