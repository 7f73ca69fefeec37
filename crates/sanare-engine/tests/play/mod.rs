//! A scripted world: what a scenario says, played through the real engine on the store's twin in memory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use sanare_core::evidence::{Evidence, Failure, TwinCall};
use sanare_core::gate::{Check, Gate};
use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::incident::{Incident, ProposerName, Rules};
use sanare_core::outcome::Reason;
use sanare_core::policy::Policy;
use sanare_core::port::scripted::{ScriptedClock, ScriptedProposer, ScriptedSubject, ScriptedTarget, ScriptedVerifier};
use sanare_core::port::{Store, TargetFault, Verified};
use sanare_core::proposal::{Candidate, Declined, Tier};
use sanare_core::redact::Redactor;
use sanare_engine::{Case, Ended, World, run};
use serde::Deserialize;
use serde_json::json;

/// The script of one scenario, in TOML.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// Keys of [`Rules`], overriding the defaults.
    pub rules: toml::Table,
    /// Candidates, first to last; one without a text declines.
    pub candidates: Vec<Scripted>,
    /// Class and text with which each re-run raises; afterwards it returns.
    pub reruns: Vec<String>,
    /// Why the call may not run again.
    pub rerun_unsafe: Option<String>,
    /// A failure that is not for repairing: its reason code.
    pub not_ours: Option<String>,
    /// What the write answers: `changed`, `disk_full`, `not_writable`.
    pub write_fault: Option<String>,
    /// Whether the owner's stop switch is set.
    pub stop: bool,
    /// Why the file cannot be written.
    pub unwritable: Option<String>,
    /// Whether there is a sandbox.
    pub no_isolation: bool,
    /// Number of the call at which the host breaks.
    pub break_at: Option<usize>,
    /// Milliseconds by which the clock jumps at the start.
    pub jump: u64,
    /// Another program changes the file before the write.
    pub changed_on_disk: bool,
    /// No source.
    pub no_source: bool,
    /// What the owner's verify commands say: `passed`, `rejected`, `red_before`, `cannot_start`.
    pub verify: String,
    /// Text of the owner's policy file.
    pub policy: String,
    /// The incident runs under a lease, and another process takes it over right before this step is recorded: settled
    /// as the file says, as the real one does.
    pub overtaken_at: String,
    /// The incident runs under a lease that nobody takes.
    pub leased: bool,
    /// The budget for repairs is spent.
    pub budget_spent: bool,
    /// The caller goes away right after this step.
    pub abandoned_at: String,
    /// The other one settled it as never written, though it was.
    pub settled_unwritten: bool,
    /// How often the file changes elsewhere while the repair is made.
    pub moves: u32,
    /// The incident goes on with an outer function, after so many candidates.
    pub continued: Option<u32>,
    /// Number of the ledger record from which on the store fails.
    pub store_fails_at: Option<usize>,
}

/// One scripted answer of the proposer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scripted {
    /// The function's text; see the scripted subject for its special words.
    pub function: String,
    /// `A`, `B` or `C`.
    pub tier: String,
    /// `model` for a model's.
    pub proposer: String,
    /// Whether a shape twin exists (default yes).
    pub no_twin: bool,
    /// A reason code, when it declines.
    pub declines: String,
    /// Whether an example passes.
    pub example: bool,
    /// How sure a model says that it is.
    pub confidence: Option<f64>,
    /// The name that a decline vetoes.
    pub vetoes: String,
}

/// The original text of the scripted file.
pub const ORIGINAL: &str = "def f(): bad";

/// What came of it.
pub struct Played {
    /// What the ledger holds, the files and the function afterwards.
    pub transcript: String,
    /// How the engine ended.
    pub ended: Ended,
    /// Whether the file holds the original.
    pub file_is_old: bool,
    /// Whether the function runs the original code.
    pub function_is_old: bool,
    /// What the subject was asked.
    pub calls: Vec<String>,
    /// Steps in the ledger, in order.
    pub steps: Vec<String>,
    /// The store.
    pub memory: sanare_store::Memory,
    /// The file.
    pub target: ScriptedTarget,
    /// The incident.
    pub incident: Incident,
}

/// Plays a script.
pub fn play(script: &Script) -> Played {
    let memory = sanare_store::Memory::new();
    let played = play_on(script, &memory);
    Played { memory, ..played }
}

fn play_on(script: &Script, memory: &sanare_store::Memory) -> Played {
    let leased = script.leased || !script.overtaken_at.is_empty();
    let lease = leased.then(|| memory.take_lease("key", "us", 1_700_000_000_000, 1_000_000).unwrap().unwrap());
    let budgets =
        [Bucket { name: "heals".to_owned(), window: 3_600_000, limit: u64::from(!script.budget_spent), units: 1 }];
    let store = Failing {
        inner: memory,
        left: std::sync::Mutex::new(script.store_fails_at),
        overtaken_at: script.overtaken_at.clone(),
        settled: if script.settled_unwritten { ReceiptState::Undone } else { ReceiptState::Done },
        lease: lease.clone(),
    };
    let clock = ScriptedClock::default();
    let mut target = target(script);
    let mut subject = subject(script);
    let mut drift = proposer(script, ProposerName::Drift);
    let mut model = proposer(script, ProposerName::Model);
    let incident = incident(script);
    let evidence =
        Evidence { failure: Failure { class: "KeyError".into(), ..Failure::default() }, ..Evidence::default() };
    let policy = if script.policy.is_empty() { Policy::none() } else { Policy::read(&script.policy) };
    let case = Case {
        policy: &policy,
        incident: &incident,
        evidence: &evidence,
        class: "drift".to_owned(),
        not_ours: script.not_ours.as_ref().map(|code| (reason(code), "scripted".to_owned())),
        recorded: Redactor::standard().json(&json!({ "error": { "class": "KeyError", "message": "'amount'" } })),
        lease: lease.as_ref(),
        budgets: &budgets,
        continued: script.continued,
    };
    let mut verifier = ScriptedVerifier { answer: verified(&script.verify), asked: 0 };
    let mut world = World {
        store: &store,
        subject: &mut subject,
        target: &mut target,
        proposers: vec![&mut drift, &mut model],
        verifier: &mut verifier,
        clock: &clock,
    };
    clock.jump.set(0);
    let ended = run(&case, &mut world);
    let records = memory.records(&incident.id).unwrap();
    memory.verify().unwrap().expect("the chain holds");
    let file_is_old = *target.disk.borrow() == ORIGINAL;
    let function_is_old = subject.running.is_none();
    let mut lines: Vec<String> = records.iter().map(line).collect();
    lines.push(format!("file: {}", if file_is_old { "old" } else { "new" }));
    lines.push(format!("function: {}", if function_is_old { "old" } else { "new" }));
    Played {
        transcript: lines.join("\n"),
        ended,
        file_is_old,
        function_is_old,
        calls: subject.calls,
        steps: records.into_iter().map(|record| record.step).collect(),
        memory: sanare_store::Memory::new(),
        target,
        incident,
    }
}

fn line(record: &sanare_core::ledger::Record) -> String {
    let payload = record.json();
    let word = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
    let detail = match record.step.as_str() {
        "diagnosed" => payload["rejections"].as_array().and_then(|all| all.last()).map_or_else(
            || word("class"),
            |last| format!("{} after {}", word("class"), last["check"].as_str().unwrap_or_default()),
        ),
        "proposed" => format!("{} {} {}", payload["attempt"], word("proposer"), word("tier")),
        "judged" | "waiting" => payload["decision"]["rules"].as_array().map_or_else(String::new, |rules| {
            rules.iter().filter_map(|rule| rule.as_str()).collect::<Vec<_>>().join(" ")
        }),
        "applied" => payload["standing"]["reason"].as_str().unwrap_or_default().to_owned(),
        "undoing" | "escalating" => word("reason"),
        "closed" => format!("{} {}", word("outcome"), word("reason")),
        _ => String::new(),
    };
    format!("{} {detail}", record.step).trim().to_owned()
}

fn target(script: &Script) -> ScriptedTarget {
    let mut target = ScriptedTarget::new(if script.no_source { "" } else { ORIGINAL });
    target.unwritable.clone_from(&script.unwritable);
    target.stop.set(script.stop);
    target.moves.set(script.moves);
    *target.write_fault.borrow_mut() = script.write_fault.as_deref().map(|word| match word {
        "changed" => TargetFault::Changed,
        "disk_full" => TargetFault::DiskFull,
        "not_writable" => TargetFault::NotWritable("read-only".to_owned()),
        other => panic!("unknown write fault {other}"),
    });
    if script.changed_on_disk {
        *target.disk.borrow_mut() = "def f(): someone else's".to_owned();
    }
    if script.no_source {
        *target.disk.borrow_mut() = ORIGINAL.to_owned();
    }
    target
}

fn subject(script: &Script) -> ScriptedSubject {
    let failure = |class: &String| Err(Failure { class: class.clone(), ..Failure::default() });
    let example = script.candidates.iter().any(|candidate| candidate.example);
    ScriptedSubject {
        reruns: script.reruns.iter().map(failure).collect(),
        rerun_unsafe: script.rerun_unsafe.clone(),
        replay: if example { vec![Check::passed(Gate::Replay, "examples")] } else { Vec::new() },
        break_at: script.break_at,
        no_isolation: script.no_isolation,
        abandoned_at: (!script.abandoned_at.is_empty()).then(|| format!("recorded {}", script.abandoned_at)),
        ..ScriptedSubject::default()
    }
}

fn proposer(script: &Script, name: ProposerName) -> ScriptedProposer {
    let of = |scripted: &&Scripted| (scripted.proposer == "model") == (name == ProposerName::Model);
    let answers = script.candidates.iter().filter(of).map(|scripted| answer(scripted, name)).collect();
    ScriptedProposer { name, answers, asked: Vec::new() }
}

fn answer(scripted: &Scripted, name: ProposerName) -> Result<Candidate, Declined> {
    if !scripted.declines.is_empty() {
        let vetoed = json!({ "fields": [{ "candidates": [{ "seen": scripted.vetoes, "vetoes": ["V1"] }, { "seen": "x", "vetoes": [] }] }] });
        let report = if scripted.vetoes.is_empty() { serde_json::Value::Null } else { vetoed };
        return Err(Declined { reason: reason(&scripted.declines), summary: "scripted".to_owned(), report });
    }
    let tier = match scripted.tier.as_str() {
        "B" => Tier::B,
        "C" => Tier::C,
        _ => Tier::A,
    };
    let twin = TwinCall { label: "4 rows".to_owned(), arguments: Vec::new() };
    Ok(Candidate {
        proposer: name,
        function: scripted.function.clone(),
        tier,
        summary: vec!["amount was renamed to osszeg".to_owned()],
        evidence: Vec::new(),
        mappings: Vec::new(),
        twins: if scripted.no_twin { Vec::new() } else { vec![twin] },
        expected_names: Vec::new(),
        lock: Vec::new(),
        seen: Vec::new(),
        confidence: scripted.confidence,
    })
}

fn incident(script: &Script) -> Incident {
    let mut rules = toml::Table::try_from(Rules::default()).unwrap();
    rules.extend(script.rules.clone());
    Incident {
        id: Id::new("inc", 1, 1),
        fingerprint: Digest::of(b"x"),
        project: "demo".to_owned(),
        path: "job.py".to_owned(),
        function: "f".to_owned(),
        line: 1,
        error: "KeyError".to_owned(),
        code: "code".to_owned(),
        process: String::new(),
        opened_at: 1,
        rules: rules.try_into().unwrap(),
    }
}

fn verified(word: &str) -> Verified {
    match word {
        "" => Verified::None,
        "passed" => Verified::Checks(vec![Check::passed(Gate::Verify, "verify")]),
        "rejected" => Verified::Checks(vec![
            Check::failed(Gate::Verify, "verify", "1 failed"),
            Check::passed(Gate::Verify, "baseline"),
        ]),
        "red_before" => {
            let reason = "already failing without the change";
            Verified::Checks(vec![Check::skipped(Gate::Verify, "baseline", reason)])
        }
        "cannot_start" => Verified::CannotStart("no such program: `no-tool`".to_owned()),
        other => panic!("unknown answer of the verify commands {other}"),
    }
}

fn reason(code: &str) -> Reason {
    *Reason::ALL.iter().find(|reason| reason.code() == code).expect("a reason code")
}

/// The twin in memory, failing from a certain append on.
pub struct Failing<'a> {
    inner: &'a sanare_store::Memory,
    left: std::sync::Mutex<Option<usize>>,
    overtaken_at: String,
    settled: ReceiptState,
    lease: Option<Lease>,
}

impl<'a> Failing<'a> {
    /// Fails after so many appends.
    pub fn new(inner: &'a sanare_store::Memory, left: Option<usize>) -> Self {
        let left = std::sync::Mutex::new(left);
        Self { inner, left, overtaken_at: String::new(), settled: ReceiptState::Done, lease: None }
    }

    /// Another process takes the lease over and settles the incident.
    fn lose(&self, entry: &Entry) {
        let Some(lease) = self.lease.as_ref().filter(|_| entry.step == self.overtaken_at) else { return };
        self.inner.give_back(lease).unwrap();
        let taken = self.inner.take_lease("key", "another", entry.at, 1_000_000).unwrap().unwrap();
        assert_eq!(taken.fence, lease.fence + 1);
        let settled = Entry {
            incident: entry.incident.clone(),
            step: "closed".to_owned(),
            at: entry.at,
            payload: Redactor::standard().json(&json!({ "outcome": "escalated", "reason": "internal" })),
        };
        self.inner.append_and_settle(&settled, self.settled).unwrap();
    }

    fn allow(&self) -> Result<(), sanare_core::port::StoreFault> {
        match self.left.lock().unwrap().as_mut() {
            Some(0) => Err(sanare_core::port::StoreFault::DiskFull),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

use sanare_core::ledger::{ChainBreak, Entry, Record};
use sanare_core::model::budget::{Cost, Limits};
use sanare_core::port::StoreFault;
use sanare_core::port::store::{Bucket, Lease, Leave, ModelCall, ReceiptChange, Rest};
use sanare_core::receipt::{Receipt, ReceiptState};

impl Store for Failing<'_> {
    fn append(&self, entry: &Entry) -> Result<Record, StoreFault> {
        self.allow()?;
        self.inner.append(entry)
    }
    fn append_with_receipt(&self, entry: &Entry, receipt: &Receipt) -> Result<Record, StoreFault> {
        self.allow()?;
        self.inner.append_with_receipt(entry, receipt)
    }
    fn append_and_settle(&self, entry: &Entry, state: ReceiptState) -> Result<Record, StoreFault> {
        self.allow()?;
        self.inner.append_and_settle(entry, state)
    }
    fn append_leased(&self, entry: &Entry, receipt: ReceiptChange<'_>, lease: &Lease) -> Result<Record, StoreFault> {
        self.allow()?;
        self.lose(entry);
        self.inner.append_leased(entry, receipt, lease)
    }
    fn receipts_of_function(&self, path: &str, function: &str) -> Result<Vec<Receipt>, StoreFault> {
        self.inner.receipts_of_function(path, function)
    }
    fn receipts_of_code(&self, code: &str) -> Result<Vec<Receipt>, StoreFault> {
        self.inner.receipts_of_code(code)
    }
    fn lease_of(&self, key: &str) -> Result<Option<(String, Lease)>, StoreFault> {
        self.inner.lease_of(key)
    }
    fn renew_lease(&self, lease: &Lease, now: u64, millis: u64) -> Result<bool, StoreFault> {
        self.inner.renew_lease(lease, now, millis)
    }
    fn holds(&self, lease: &Lease, now: u64) -> Result<bool, StoreFault> {
        self.inner.holds(lease, now)
    }
    fn count_occurrence(&self, fingerprint: &str) -> Result<(), StoreFault> {
        self.inner.count_occurrence(fingerprint)
    }
    fn spent(&self, buckets: &[Bucket], now: u64) -> Result<Option<String>, StoreFault> {
        self.inner.spent(buckets, now)
    }
    fn spend(&self, buckets: &[Bucket], now: u64) -> Result<Option<String>, StoreFault> {
        self.inner.spend(buckets, now)
    }
    fn records(&self, incident: &Id) -> Result<Vec<Record>, StoreFault> {
        self.inner.records(incident)
    }
    fn incidents(&self, limit: usize) -> Result<Vec<Id>, StoreFault> {
        self.inner.incidents(limit)
    }
    fn unfinished(&self) -> Result<Vec<Id>, StoreFault> {
        self.inner.unfinished()
    }
    fn ledger_after(&self, seq: u64, limit: usize) -> Result<Vec<Record>, StoreFault> {
        self.inner.ledger_after(seq, limit)
    }
    fn chain(&self, entry: &Entry) -> Result<Record, StoreFault> {
        self.inner.chain(entry)
    }
    fn verify(&self) -> Result<Result<u64, ChainBreak>, StoreFault> {
        self.inner.verify()
    }
    fn receipt(&self, incident: &Id) -> Result<Option<Receipt>, StoreFault> {
        self.inner.receipt(incident)
    }
    fn receipts(&self, state: ReceiptState) -> Result<Vec<Receipt>, StoreFault> {
        self.inner.receipts(state)
    }
    fn remember_shape(&self, function: &str, shape: &str, at: u64, most: usize) -> Result<(), StoreFault> {
        self.inner.remember_shape(function, shape, at, most)
    }
    fn shapes(&self, function: &str) -> Result<Vec<String>, StoreFault> {
        self.inner.shapes(function)
    }
    fn forget(&self, function: Option<&str>) -> Result<u64, StoreFault> {
        self.inner.forget(function)
    }
    fn remember_call(&self, function: &str, call: &[u8], at: u64, most: usize, since: u64) -> Result<(), StoreFault> {
        self.inner.remember_call(function, call, at, most, since)
    }
    fn calls(&self, function: &str, since: u64) -> Result<Vec<Vec<u8>>, StoreFault> {
        self.inner.calls(function, since)
    }
    fn take_lease(&self, key: &str, holder: &str, now: u64, millis: u64) -> Result<Option<Lease>, StoreFault> {
        self.inner.take_lease(key, holder, now, millis)
    }
    fn give_back(&self, lease: &Lease) -> Result<(), StoreFault> {
        self.inner.give_back(lease)
    }
    fn rest(&self, fingerprint: &str) -> Result<Rest, StoreFault> {
        self.inner.rest(fingerprint)
    }
    fn set_rest(&self, fingerprint: &str, rest: &Rest) -> Result<(), StoreFault> {
        self.inner.set_rest(fingerprint, rest)
    }
    fn settle_units(&self, bucket: &Bucket, taken: u64, used: u64) -> Result<(), StoreFault> {
        self.inner.settle_units(bucket, taken, used)
    }
    fn begin_model_call(&self, call: &ModelCall, limits: &Limits) -> Result<Leave, StoreFault> {
        self.inner.begin_model_call(call, limits)
    }
    fn settle_model_call(&self, number: u64, cost: Cost) -> Result<(), StoreFault> {
        self.inner.settle_model_call(number, cost)
    }
}
