//! Recorded steps once more: the same loop with ports that answer from the ledger, changing nothing (C100).

use std::cell::Cell;
use std::collections::VecDeque;

use sanare_core::evidence::{Evidence, Failure, TwinCall, TwinValue};
use sanare_core::gate::{Answer, Check, Gate, GateReport};
use sanare_core::hash::Digest;
use sanare_core::incident::ProposerName;
use sanare_core::ledger::Record;
use sanare_core::outcome::Reason;
use sanare_core::policy::Policy;
use sanare_core::port::target::Placed;
use sanare_core::port::{
    Ask, Proposer, Ran, RanState, Store, StoreFault, Subject, SubjectFault, Target, TargetFault, Verified, Verifier,
};
use sanare_core::proposal::{Candidate, Declined, Rejection};
use sanare_core::receipt::Receipt;
use sanare_core::redact::Redactor;
use serde_json::Value as Json;

use crate::recorded::from;
use crate::run::{CONTINUED, Case, World, of_last_target, run};

/// One step as it was and as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// What the ledger has; empty when it has no such step.
    pub was: String,
    /// What the loop decides now; empty when it does not come to it.
    pub now: String,
}

/// Runs the steps of a recorded incident again. `store` takes what is written now and must be empty: never the owner's.
///
/// # Errors
/// [`StoreFault`], also when the records are not those of an incident.
pub fn replay(records: &[Record], policy: &Policy, store: &dyn Store) -> Result<Vec<Replayed>, StoreFault> {
    let unusable = || StoreFault::Unusable("the records are not complete".to_owned());
    // Of an incident that went outward the last target alone: the one before ended like an incident of its own.
    let records = up_to_its_end(of_last_target(records));
    let script = Script::read(records).ok_or_else(unusable)?;
    let clock = sanare_core::port::scripted::ScriptedClock::default();
    let evidence = Evidence::default();
    let recorded = records.iter().find(|record| record.step == "evident").map(Record::json).unwrap_or_default();
    let case = Case {
        incident: &script.incident,
        evidence: &evidence,
        class: script.class.clone(),
        not_ours: script.not_ours.clone(),
        recorded: Redactor::standard().json(&recorded),
        policy,
        lease: None,
        budgets: &[],
        continued: script.continued,
    };
    let mut target = ScriptTarget { script: &script };
    let mut subject = ScriptSubject { script: &script, reruns: script.reruns.clone() };
    let mut drift = ScriptProposer { name: ProposerName::Drift, answers: script.answers(ProposerName::Drift) };
    let mut model = ScriptProposer { name: ProposerName::Model, answers: script.answers(ProposerName::Model) };
    let mut verifier = ScriptVerifier { script: &script };
    let mut world = World {
        store,
        subject: &mut subject,
        target: &mut target,
        proposers: vec![&mut drift, &mut model],
        verifier: &mut verifier,
        clock: &clock,
    };
    run(&case, &mut world);
    let now = store.records(&script.incident.id)?;
    let was: Vec<String> = records.iter().take_while(|record| !by_a_person(record)).filter_map(line).collect();
    let now: Vec<String> = now.iter().filter_map(line).collect();
    let count = was.len().max(now.len());
    let at = |list: &[String], place: usize| list.get(place).cloned().unwrap_or_default();
    Ok((0..count).map(|place| Replayed { was: at(&was, place), now: at(&now, place) }).collect())
}

/// Without what came after the incident had ended: a repair that was taken back later is a person's decision.
fn up_to_its_end(records: &[Record]) -> &[Record] {
    let end = records.iter().position(|record| record.step == "closed").map_or(records.len(), |place| place + 1);
    records.get(..end).unwrap_or(records)
}

/// What a person or a later process added is not the loop's own decision.
fn by_a_person(record: &Record) -> bool {
    let payload = record.json();
    record.step == "answered" || payload["approver"]["by"] == "person" || !payload["answer"].is_null()
}

/// A step and what it decided, in a line; `None` for notes beside the steps.
fn line(record: &Record) -> Option<String> {
    let payload = record.json();
    let word = |json: &Json| json.as_str().unwrap_or_default().to_owned();
    let detail = match record.step.as_str() {
        "opened" | CONTINUED | "evident" | "checked" | "approved" | "prepared" => String::new(),
        "diagnosed" => {
            let rejected = payload["rejections"].as_array().and_then(|all| all.last());
            rejected.map(|last| format!("after {}", word(&last["check"]))).unwrap_or_default()
        }
        "proposed" => format!("{} {} {}", payload["attempt"], word(&payload["proposer"]), word(&payload["tier"])),
        "judged" | "waiting" => word(&payload["decision"]["verdict"]),
        "applied" => word(&payload["standing"]["reason"]),
        "undoing" | "escalating" => word(&payload["reason"]),
        "closed" => format!("{} {}", word(&payload["outcome"]), word(&payload["reason"])),
        _ => return None,
    };
    Some(format!("{} {detail}", record.step).trim().to_owned())
}

/// One recorded candidate with what the gates said of it.
#[derive(Clone, Debug)]
struct Try {
    candidate: Candidate,
    checks: Vec<Check>,
    diff: String,
}

/// What the ports answer.
struct Script {
    incident: sanare_core::incident::Incident,
    continued: Option<u32>,
    class: String,
    not_ours: Option<(Reason, String)>,
    tries: Vec<Try>,
    /// Which of them the gates look at now.
    at: Cell<usize>,
    declined: Vec<Declined>,
    reruns: VecDeque<Result<(), Failure>>,
    rerun_unsafe: Option<String>,
    unswappable: Option<String>,
    write_fault: Option<TargetFault>,
    cannot_start: Option<String>,
    source: bool,
    unwritable: Option<String>,
}

impl Script {
    fn read(records: &[Record]) -> Option<Self> {
        let opened = records.iter().find(|record| matches!(record.step.as_str(), "opened" | CONTINUED))?.json();
        let mut script = Self {
            incident: from(&opened["incident"])?,
            continued: from(&opened["attempts"]),
            class: String::new(),
            not_ours: None,
            tries: Vec::new(),
            at: Cell::new(0),
            declined: Vec::new(),
            reruns: VecDeque::new(),
            rerun_unsafe: None,
            unswappable: None,
            write_fault: None,
            cannot_start: None,
            source: true,
            unwritable: None,
        };
        for record in records.iter().take_while(|record| !by_a_person(record)) {
            script.take(&record.step, &record.json());
        }
        Some(script)
    }

    fn take(&mut self, step: &str, payload: &Json) {
        let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
        match step {
            "diagnosed" => {
                self.class = text(&payload["class"]);
                self.heard(&payload["declined"]);
                if let (Some(last), Some(checks)) = (self.tries.last_mut(), from::<Vec<Check>>(&payload["gates"]))
                    && last.checks.is_empty()
                {
                    last.checks = checks;
                }
            }
            "proposed" => {
                self.heard(&payload["declined"]);
                self.tries.extend(proposed(payload));
            }
            "checked" => {
                if let Some(last) = self.tries.last_mut() {
                    last.checks = from(&payload["gates"]).unwrap_or_default();
                    last.diff = text(&payload["diff"]);
                }
            }
            "applied" => {
                let why = text(&payload["standing"]["detail"]);
                match payload["standing"]["reason"].as_str() {
                    Some("rerun_unsafe") => self.rerun_unsafe = Some(why),
                    Some("unconfirmed") => self.unswappable = Some(why),
                    _ => {}
                }
            }
            "undoing" if payload["reason"] == "rerun_failed" => {
                let class = text(&payload["detail"]);
                self.reruns.push_back(Err(Failure { class, ..Failure::default() }));
            }
            "undoing" => self.unswappable = Some(text(&payload["detail"])),
            "closed" => self.closed(payload, &text(&payload["detail"])),
            _ => {}
        }
    }

    fn heard(&mut self, declined: &Json) {
        let all: Vec<Declined> = from(declined).unwrap_or_default();
        let known = self.declined.len();
        self.declined.extend(all.into_iter().skip(known));
    }

    fn closed(&mut self, payload: &Json, detail: &str) {
        self.heard(&payload["declined"]);
        let Some(reason) = from::<Reason>(&payload["reason"]) else { return };
        let began = !self.class.is_empty();
        match reason {
            Reason::VerifyCannotStart => self.cannot_start = Some(detail.to_owned()),
            Reason::NoSource if !began => self.source = false,
            Reason::UnsupportedTarget if !began => self.unwritable = Some(detail.to_owned()),
            Reason::Policy => {}
            _ if !began => self.not_ours = Some((reason, detail.to_owned())),
            Reason::SourceChanged => self.write_fault = Some(TargetFault::Changed),
            Reason::DiskFull => self.write_fault = Some(TargetFault::DiskFull),
            Reason::Permission => self.write_fault = Some(TargetFault::NotWritable(detail.to_owned())),
            _ => {}
        }
    }

    /// What one proposer answered, in order: its candidates, and its refusal where it stood.
    fn answers(&self, name: ProposerName) -> VecDeque<Result<Candidate, Declined>> {
        let mut answers: VecDeque<_> = self
            .tries
            .iter()
            .filter(|one| one.candidate.proposer == name)
            .map(|one| Ok(one.candidate.clone()))
            .collect();
        // The engine is asked once: where it had a candidate, the first refusal is the model's.
        let engine_tried = self.tries.iter().any(|one| one.candidate.proposer == ProposerName::Drift);
        let own = match (name, engine_tried) {
            (ProposerName::Drift, true) => None,
            (ProposerName::Drift, false) | (ProposerName::Model, true) => self.declined.first(),
            (ProposerName::Model, false) => self.declined.get(1),
        };
        answers.extend(own.map(|declined| Err(declined.clone())));
        answers
    }

    /// What the gates said of the candidate that is looked at now.
    fn checks(&self) -> &[Check] {
        self.tries.get(self.at.get()).map_or(&[], |one| one.checks.as_slice())
    }
}

fn proposed(payload: &Json) -> Option<Try> {
    let twin = TwinCall { label: "as recorded".to_owned(), arguments: Vec::new() };
    let candidate = Candidate {
        proposer: from(&payload["proposer"])?,
        function: payload["function"].as_str()?.to_owned(),
        tier: from(&payload["tier"])?,
        summary: from(&payload["summary"]).unwrap_or_default(),
        evidence: from(&payload["evidence"]).unwrap_or_default(),
        mappings: Vec::new(),
        twins: vec![twin],
        expected_names: Vec::new(),
        lock: Vec::new(),
        seen: Vec::new(),
        confidence: payload["confidence"].as_f64(),
    };
    Some(Try { candidate, checks: Vec::new(), diff: String::new() })
}

struct ScriptProposer {
    name: ProposerName,
    answers: VecDeque<Result<Candidate, Declined>>,
}

impl Proposer for ScriptProposer {
    fn name(&self) -> ProposerName {
        self.name
    }

    fn propose(&mut self, _ask: &Ask<'_>, _subject: &mut dyn Subject) -> Result<Box<Candidate>, Declined> {
        let none = || Declined {
            reason: Reason::NoProposer,
            summary: "nothing more was recorded".to_owned(),
            report: Json::Null,
        };
        self.answers.pop_front().unwrap_or_else(|| Err(none())).map(Box::new)
    }
}

struct ScriptTarget<'a> {
    script: &'a Script,
}

/// Stands for the owner's file, whose text is not in the ledger.
const ORIGINAL: &str = "the recorded file";

impl Target for ScriptTarget<'_> {
    fn path(&self) -> &str {
        &self.script.incident.path
    }

    fn module(&self) -> &str {
        if self.script.source { ORIGINAL } else { "" }
    }

    fn vet(&self, _candidate: &Candidate, rejected: &[Rejection]) -> GateReport {
        // Every candidate before this one was rejected, by a gate or by its re-run.
        self.script.at.set(rejected.len());
        let of_text =
            |check: &&Check| check.gate <= Gate::Safety && check.name != "compiles" && check.name != "encodes";
        let checks = self.script.checks().iter().filter(of_text).cloned().collect();
        GateReport { checks }
    }

    fn place(&self, candidate: &Candidate) -> Result<Placed, Check> {
        let checks = self.script.checks();
        if let Some(check) = checks.iter().find(|check| check.name == "encodes" && check.answer == Answer::Failed) {
            return Err(check.clone());
        }
        let diff = self.script.tries.get(self.script.at.get());
        Ok(Placed {
            module: candidate.function.clone(),
            text: candidate.function.clone(),
            before: Digest::of(ORIGINAL.as_bytes()),
            after: Digest::of(candidate.function.as_bytes()),
            start: 0,
            original: ORIGINAL.as_bytes().to_vec(),
            replacement: candidate.function.clone().into_bytes(),
            diff: diff.map(|one| one.diff.clone()).unwrap_or_default(),
        })
    }

    fn unwritable(&self) -> Option<String> {
        self.script.unwritable.clone()
    }

    fn digest_now(&self) -> Option<Digest> {
        Some(Digest::of(ORIGINAL.as_bytes()))
    }

    fn write(&self, _receipt: &Receipt) -> Result<(), TargetFault> {
        self.script.write_fault.clone().map_or(Ok(()), Err)
    }

    fn restore(&self, _receipt: &Receipt) -> Result<(), TargetFault> {
        Ok(())
    }

    fn stopped(&self) -> bool {
        false
    }
}

struct ScriptSubject<'a> {
    script: &'a Script,
    reruns: VecDeque<Result<(), Failure>>,
}

impl ScriptSubject<'_> {
    /// How a body must have run for the recorded checks to come out.
    fn ran(&self, module: &str, twin: bool) -> Ran {
        if module == ORIGINAL {
            return self.old(twin);
        }
        let checks = self.script.checks();
        let check = |name: &str, gate: Gate| checks.iter().find(|check| check.name == name && check.gate == gate);
        if twin {
            return match check("twin", Gate::Replay).map(|check| check.answer) {
                Some(Answer::Failed) => Ran { digest: "another".to_owned(), ..Ran::ended(RanState::Returned, "") },
                _ => Ran::ended(RanState::Returned, ""),
            };
        }
        let failed = checks.iter().find(|check| check.gate == Gate::Trial && check.answer != Answer::Passed);
        match failed.map(|check| (check.name.as_str(), check.answer, check.reason.clone())) {
            None => Ran::ended(RanState::Returned, ""),
            Some((_, Answer::Skipped, why)) => Ran::ended(RanState::CannotRun, why),
            Some(("no_denied_effect", _, why)) => Ran::ended(RanState::Denied, why),
            Some(("in_limits", _, why)) => Ran::ended(RanState::TimedOut, why),
            Some(("arguments_untouched", ..)) => Ran { arguments_changed: true, ..Ran::ended(RanState::Returned, "") },
            Some((_, _, why)) => Ran::ended(RanState::Raised, why),
        }
    }

    /// The old body's run is told by the checks of whichever candidate is tried; they all had the same.
    fn old(&self, twin: bool) -> Ran {
        let all = self.script.tries.iter().flat_map(|one| &one.checks);
        let find = |name: &str| all.clone().find(|check| check.name == name);
        if twin {
            return match find("twin").map(|check| check.answer) {
                Some(Answer::Passed | Answer::Failed) => Ran::ended(RanState::Returned, ""),
                _ => Ran::ended(RanState::Raised, ""),
            };
        }
        match find("undo_refails").map(|check| (check.answer, check.reason.clone())) {
            Some((Answer::Skipped, why)) => Ran::ended(RanState::CannotRun, why),
            _ => Ran::ended(RanState::Raised, ""),
        }
    }
}

impl Subject for ScriptSubject<'_> {
    fn compiles(&mut self, _module: &str) -> Result<Option<String>, SubjectFault> {
        let checks = self.script.checks().iter();
        let failed = checks.clone().find(|check| check.name == "compiles" && check.answer == Answer::Failed);
        Ok(failed.map(|check| check.reason.clone()))
    }

    fn trial(&mut self, module: &str, arguments: Option<&[(String, TwinValue)]>) -> Result<Ran, SubjectFault> {
        Ok(self.ran(module, arguments.is_some()))
    }

    fn replay(&mut self, _module: &str) -> Result<Vec<Check>, SubjectFault> {
        let checks = self.script.checks().iter();
        Ok(checks.filter(|check| check.gate == Gate::Replay && check.name != "twin").cloned().collect())
    }

    fn swap(&mut self, _module: &str) -> Result<Option<String>, SubjectFault> {
        Ok(self.script.unswappable.clone())
    }

    fn unswap(&mut self) -> Result<(), SubjectFault> {
        Ok(())
    }

    fn rerun_unsafe(&mut self) -> Result<Option<String>, SubjectFault> {
        Ok(self.script.rerun_unsafe.clone())
    }

    fn rerun(&mut self) -> Result<Result<(), Failure>, SubjectFault> {
        Ok(self.reruns.pop_front().unwrap_or(Ok(())))
    }

    fn members(&mut self, dotted: &[String]) -> Result<Vec<(String, bool)>, SubjectFault> {
        Ok(dotted.iter().map(|name| (name.clone(), false)).collect())
    }

    fn versions(&mut self, _distributions: &[String]) -> Result<Vec<(String, String)>, SubjectFault> {
        Ok(Vec::new())
    }
}

struct ScriptVerifier<'a> {
    script: &'a Script,
}

impl Verifier for ScriptVerifier<'_> {
    fn verify(&mut self, _placed: &Placed, _time_left_ms: u64, _gone: &mut dyn FnMut() -> bool) -> Verified {
        if let Some(why) = &self.script.cannot_start {
            return Verified::CannotStart(why.clone());
        }
        let checks = self.script.checks().iter();
        let checks: Vec<Check> = checks.filter(|check| check.gate == Gate::Verify).cloned().collect();
        if checks.is_empty() { Verified::None } else { Verified::Checks(checks) }
    }
}
