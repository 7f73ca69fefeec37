//! The report of an incident, rendered from the ledger alone (C99, C100).

use sanare_core::id::Id;
use sanare_core::ledger::Record;
use sanare_core::model::usage::Usage;
use sanare_core::outcome::{Outcome, Reason, Status};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

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
    /// What asking a model cost: calls, milliseconds, tokens, money, and the same as a line; null without a call.
    pub usage: Json,
    /// Who approved, as stored.
    pub approval: Json,
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
    /// `gate/check: reason`, or empty when it went through.
    pub rejected_because: String,
}

impl Report {
    /// Renders the records of one incident.
    pub fn from_records(id: &Id, records: &[Record]) -> Self {
        let mut report =
            Self { id: id.to_string(), kind: "incident".to_owned(), status: "open".to_owned(), ..Self::default() };
        for record in records {
            report.take(record);
        }
        report
    }

    fn take(&mut self, record: &Record) {
        let payload = record.json();
        match record.step.as_str() {
            "opened" => self.opened(&payload["incident"], record.at),
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
            }
            "approved" => self.approval = payload["approver"].clone(),
            "waiting" => {
                self.status = "waiting".to_owned();
                self.summary = format!("a person is asked: {}", texts(&payload["decision"]["rules"]).join(", "));
            }
            "model_call" => self.model_call(&payload),
            "applied" => self.applied(&payload),
            "undoing" => self.rerun = format!("failed: {}", text(&payload["detail"])),
            "closed" => self.closed(&payload, record.at),
            "captured" => self.captured(&payload, record.at),
            _ => {}
        }
    }

    fn opened(&mut self, incident: &Json, at: u64) {
        self.fingerprint = text(&incident["fingerprint"]);
        self.function = text(&incident["function"]);
        self.path = text(&incident["path"]);
        self.line = incident["line"].as_u64().unwrap_or(0);
        self.created_at = at;
    }

    fn diagnosed(&mut self, payload: &Json) {
        self.classification = text(&payload["class"]);
        self.refusals = payload["declined"].clone();
        for (attempt, rejection) in self.attempts.iter_mut().zip(payload["rejections"].as_array().into_iter().flatten())
        {
            attempt.rejected_because = format!("{}: {}", text(&rejection["check"]), text(&rejection["reason"]));
        }
    }

    fn proposed(&mut self, payload: &Json) {
        self.proposer = text(&payload["proposer"]);
        self.tier = text(&payload["tier"]);
        self.changes = texts(&payload["summary"]);
        self.evidence = texts(&payload["evidence"]);
        let number = payload["attempt"].as_u64().unwrap_or(0);
        self.attempts.push(Attempt { number, proposer: self.proposer.clone(), rejected_because: String::new() });
    }

    fn model_call(&mut self, payload: &Json) {
        let mut usage: Usage = serde_json::from_value(self.usage.clone()).unwrap_or_default();
        usage.add(&serde_json::from_value(payload["usage"].clone()).unwrap_or_default());
        self.usage = json!(usage);
        self.usage["line"] = json!(usage.line());
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

    /// The report as readable text.
    pub fn to_text(&self) -> String {
        let mut lines = vec![
            format!("{}  {}", self.id, self.headline()),
            format!("  function   {} in {}:{}", self.function, self.path, self.line),
            format!("  error      {}", self.error),
        ];
        let mut add = |name: &str, value: &str| {
            if !value.is_empty() {
                lines.push(format!("  {name:<10} {value}"));
            }
        };
        add("class", &self.classification);
        add("because", &self.summary);
        add("proposer", format!("{} {}", self.proposer, self.tier).trim());
        for change in &self.changes {
            add("change", change);
        }
        for line in &self.evidence {
            add("evidence", line);
        }
        for attempt in self.attempts.iter().filter(|attempt| !attempt.rejected_because.is_empty()) {
            add("rejected", &format!("attempt {}: {}", attempt.number, attempt.rejected_because));
        }
        for gate in self.gates.as_array().into_iter().flatten() {
            let reason = text(&gate["reason"]);
            let name = format!("{} {}: {}", text(&gate["gate"]), text(&gate["name"]), text(&gate["answer"]));
            add("gate", &if reason.is_empty() { name } else { format!("{name} ({reason})") });
        }
        add("re-run", &self.rerun);
        add("usage", self.usage["line"].as_str().unwrap_or_default().trim_start_matches("usage: "));
        for line in refusal_lines(&self.refusals) {
            add("refusal", &line);
        }
        if !self.diff.is_empty() {
            lines.push(String::new());
            lines.push(self.diff.clone());
        }
        lines.join("\n")
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

/// The refusal report as lines for people.
pub fn refusal_lines(refusals: &Json) -> Vec<String> {
    let mut lines = Vec::new();
    for declined in refusals.as_array().into_iter().flatten() {
        lines.push(format!("{}: {}", text(&declined["reason"]), text(&declined["summary"])));
        let report = &declined["report"];
        for field in report["fields"].as_array().into_iter().flatten() {
            lines.push(format!("  {}: {}", text(&field["expected"]), text(&field["unmet"])));
            for candidate in field["candidates"].as_array().into_iter().flatten() {
                let evidence = texts(&candidate["evidence"]).join(", ");
                let vetoes = texts(&candidate["vetoes"]).join(", ");
                let against = if vetoes.is_empty() { String::new() } else { format!("; against: {vetoes}") };
                let with = if evidence.is_empty() { "nothing".to_owned() } else { evidence };
                lines.push(format!("    {}: for: {with}{against}", text(&candidate["seen"])));
            }
        }
        let hint = text(&report["hint"]);
        if !hint.is_empty() {
            lines.push(format!("  hint: {hint}"));
        }
    }
    lines
}

fn oracle(gates: &Json) -> bool {
    gates.as_array().into_iter().flatten().any(|gate| {
        gate["answer"] == "passed"
            && matches!(gate["name"].as_str(), Some("calls" | "examples" | "contract" | "verify"))
    })
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

fn texts(json: &Json) -> Vec<String> {
    json.as_array().into_iter().flatten().map(text).collect()
}
