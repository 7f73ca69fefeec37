//! A stage for the loop: a scripted plant, minutes that pass, people who answer, and the transcript of it all.

use std::cell::{Cell, RefCell};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::incident::Mode;
use sanare_core::policy::Policy;
use sanare_core::port::Clock as _;
use sanare_core::service::Run;
use sanare_core::service::approval::{Decision, Principal};
use sanare_core::service::confidence::Caps;
use sanare_core::service::context::{LiveSpan, MovedBy, RegistryView, Standing};
use sanare_core::service::declaration::{Blast, Declaration, Undo, Written};
use sanare_core::service::moment::{HOUR, MINUTE, Moment};
use sanare_core::service::port::scripted::{HandClock, ScriptedAdapter, ScriptedAgent, ScriptedHouse, ScriptedProbe};
use sanare_core::service::rules::RulesAgent;
use sanare_core::service::verification::{Guard, Guarded, Seen};
use sanare_core::service::{
    Action, Advice, Application, Component, Condition, Draft, Following, GateCheck, Identity, IncidentFlag,
    IncidentKind, Mark, Observation, ObservedValue, ServiceStore, Signal, Source, Stamp, TargetKey, Text, Trust,
    Version, WorldState,
};
use sanare_engine::service::{Loop, Reported, Symptom, World};
use sanare_store::Memory;
use serde::Deserialize;

use super::hooked::Hooked;
use super::transcript::{ending, line};
pub use super::words::reaction;
use super::words::{diagnostic, job};

/// A script.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    pub kind: IncidentKind,
    #[serde(default = "auto")]
    pub mode: Mode,
    /// Lines that are added to the policy.
    #[serde(default)]
    pub policy: String,
    #[serde(default = "hour")]
    pub minutes: u64,
    /// Whether a version went live ten minutes before.
    #[serde(default)]
    pub changed: bool,
    /// Whether the registry names what it has.
    #[serde(default)]
    pub registry_right: bool,
    /// The action that helps.
    pub cured_by: Option<Action>,
    /// The minute at which it passes by itself.
    pub passes: Option<u64>,
    /// The minute from which no readings come.
    pub silent_from: Option<u64>,
    /// Minutes after a cure at which it comes back.
    pub relapses_after: Option<u64>,
    /// Minutes after the act from which the guard is twice as bad.
    #[serde(default)]
    pub worse: bool,
    #[serde(default = "rules")]
    pub agent: String,
    /// Nothing answers for the targets until they are acted on: the process hangs or is gone.
    #[serde(default)]
    pub hangs: bool,
    /// Whether who answered was seen before that.
    #[serde(default = "yes")]
    pub was_seen: bool,
    /// Whether the readings hold a secret.
    #[serde(default)]
    pub secret: bool,
    /// A probe that answers this.
    pub probe: Option<sanare_core::service::Health>,
    #[serde(default)]
    pub diagnostics: Vec<String>,
    #[serde(default)]
    pub target: Vec<Target>,
    #[serde(default)]
    pub at: Vec<Event>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub action: Action,
    #[serde(default = "yes")]
    pub fence: bool,
    #[serde(default)]
    pub idempotent: bool,
    #[serde(default)]
    pub reversible: bool,
    /// Instances.
    #[serde(default = "three")]
    pub of: u32,
    /// `obeys`, `acts_says:unknown`, `says:refused`, `panics`, `acts_panics`.
    #[serde(default)]
    pub reactions: Vec<String>,
    pub state: Option<WorldState>,
    #[serde(default = "yes")]
    pub reachable: bool,
    /// A precondition and what it answers: `passed`, `failed`, `skipped`.
    pub precondition: Option<String>,
    /// How its job stands each time that it is asked for, once a minute: `running`, `done`, `done 43`, `failed`, `missing`,
    /// `many`, `cannot_tell`. Without any no job is followed.
    #[serde(default)]
    pub jobs: Vec<String>,
    /// The call at which the adapter breaks down.
    pub breaks: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    pub minute: u64,
    #[serde(rename = "do")]
    pub what: String,
}

fn auto() -> Mode {
    Mode::Auto
}
fn hour() -> u64 {
    60
}
fn rules() -> String {
    "rules".to_owned()
}
fn yes() -> bool {
    true
}
fn three() -> u32 {
    3
}

/// The policy of a scenario, unless it says otherwise: nothing is asked for its own sake.
const POLICY: &str = "version = 1\nmode = \"auto\"\nhistory_min = 0\nalways_ask = []\n\
                      approvals = { approvers = [\"ann\", \"bob\"] }\n";

/// What must be in no message and no record.
pub const SECRET: &str = "hunter2secret99xyz";

pub fn begin() -> Moment {
    Moment::parse("2026-11-30T12:00:00Z").unwrap()
}

/// The plant and everything round it.
pub struct Stage {
    pub script: Script,
    pub store: Box<dyn ServiceStore>,
    pub house: ScriptedHouse,
    pub agent: ScriptedAgent,
    pub clock: HandClock,
    /// When the plant was cured, in seconds.
    pub cured: Cell<Option<u64>>,
    pub incident: RefCell<Option<Id>>,
    pub notes: RefCell<Vec<String>>,
    reported: Cell<Option<Condition>>,
    good_since: Cell<Option<u64>>,
}

impl Stage {
    pub fn new(script: &Script) -> Self {
        Self::on(script, Box::new(Memory::new()))
    }

    pub fn on(script: &Script, store: Box<dyn ServiceStore>) -> Self {
        let mut house = ScriptedHouse { mode: Mutex::new(script.mode), ..ScriptedHouse::default() };
        let policy = if script.policy.starts_with("version") {
            script.policy.clone()
        } else {
            format!("{POLICY}{}", script.policy)
        };
        house.policy = Mutex::new(Policy::read(&policy));
        house.probe = script.probe.map(|health| ScriptedProbe { health: Mutex::new(Some(health)) });
        house.diagnostics = script.diagnostics.iter().map(|name| diagnostic(name)).collect();
        for target in &script.target {
            house.adapters.insert(target.action, adapter(target));
        }
        if script.hangs {
            house.adapters.values().for_each(|one| *one.identity.lock().unwrap() = Identity::default());
            let seen = Identity::default().with(Mark::StartTime, "start 0");
            house.last = Mutex::new(if script.was_seen { seen } else { Identity::default() });
        }
        house.versions = Mutex::new(versions(script.changed));
        house.registry = Mutex::new(Some(RegistryView {
            alias_version: Version::parse("42").ok(),
            alias_ready: script.registry_right,
            ..RegistryView::default()
        }));
        Self {
            agent: agent(&script.agent),
            script: script.clone(),
            store,
            house,
            clock: HandClock::at(begin()),
            cured: Cell::new(None),
            incident: RefCell::new(None),
            notes: RefCell::default(),
            reported: Cell::new(None),
            good_since: Cell::new(None),
        }
    }

    pub fn world<'a>(&'a self, store: &'a dyn ServiceStore) -> World<'a> {
        World { store, house: &self.house, agent: &self.agent, clock: &self.clock, caps: Caps::default() }
    }

    /// What a person asked for and did not get.
    fn note(&self, what: &str, done: Result<(), sanare_engine::service::NotDone>) {
        if let Err(not) = done {
            self.notes.borrow_mut().push(format!("{:02}:{:02} {what}: {not}", self.second() / 60, self.second() % 60));
        }
    }

    pub fn store_run(&self, incident: &Id) -> Run {
        self.store.run(incident).unwrap().expect("every incident has a run")
    }

    pub fn second(&self) -> u64 {
        (self.clock.now() - begin().millis()) / 1_000
    }

    fn is_ill(&self) -> bool {
        let minute = self.second() / 60;
        if self.script.passes.is_some_and(|passes| minute >= passes) {
            return false;
        }
        match (self.cured.get(), self.script.relapses_after) {
            (Some(at), Some(after)) => self.second() >= at + after * 60,
            (Some(_), None) => false,
            (None, _) => true,
        }
    }

    /// What the plant shows each quarter of a minute.
    pub fn plant(&self) {
        let second = self.second();
        let helps = |action: &Action| self.house.adapters.get(action).is_some_and(|one| one.changes() > 0);
        if self.cured.get().is_none() && self.script.cured_by.as_ref().is_some_and(helps) {
            self.cured.set(Some(second));
        }
        if !second.is_multiple_of(60) || self.script.silent_from.is_some_and(|silent| second / 60 >= silent) {
            return;
        }
        let at = Moment::from_millis(self.clock.now());
        let ill = self.is_ill();
        self.house.readings.lock().unwrap().push(Seen { at, fresh: true, inside: Some(!ill) });
        if self.script.worse {
            let acted = self.house.adapters.values().any(|one| one.changes() > 0);
            let badness = if acted { 2.0 } else { 1.0 };
            let mut guards = self.house.guards.lock().unwrap();
            if guards.is_empty() {
                let before = |minute| Guarded { at: begin().minus(minute * MINUTE), fresh: true, badness: 1.0 };
                let readings = (1..30).map(before).collect();
                guards.push(Guard { name: "error_share".to_owned(), bound: None, readings });
            }
            guards[0].readings.push(Guarded { at, fresh: true, badness });
        }
    }

    /// What a detector says of it: firing at once, cleared after 5 good minutes.
    pub fn symptom(&self) -> Option<Symptom> {
        let second = self.second();
        let silent = self.script.silent_from.is_some_and(|silent| second / 60 >= silent);
        if !second.is_multiple_of(60) || silent {
            return None;
        }
        let ill = self.is_ill();
        self.good_since.set(if ill { None } else { self.good_since.get().or(Some(second)) });
        let condition = match self.good_since.get() {
            None => Condition::Firing,
            Some(since) if second >= since + 300 => Condition::Cleared,
            Some(_) => Condition::Clearing,
        };
        if !ill && self.reported.get() == Some(condition) {
            return None;
        }
        self.reported.set(Some(condition));
        let evidence = if ill { vec![(self.reading(), 1.0)] } else { Vec::new() };
        Some(symptom(self.script.kind, condition, evidence))
    }

    pub fn reading(&self) -> Observation {
        let application = Application::parse("fraud").unwrap();
        let signal = Signal::parse("latency_p99_ms").unwrap();
        let stamp = Stamp {
            id: Id::new("obs", self.clock.now(), self.clock.chance()),
            arrival: Moment::from_millis(self.clock.now()),
            source: Source::parse("client").unwrap(),
            trust: Trust::Own,
        };
        let value = if self.script.secret {
            let detail = Some(Text::of(&format!("HTTP 500: token={SECRET}")));
            ObservedValue::Health { status: sanare_core::service::Health::Fail, detail }
        } else {
            ObservedValue::metric(900.0)
        };
        Observation::accept(Draft::new(application, signal, value), stamp).unwrap()
    }

    pub fn event(&self, what: &str, worker: &Loop<'_>) {
        let (verb, rest) = what.split_once(' ').unwrap_or((what, ""));
        let answered = |decision: Decision| {
            let waiting = self.store.waiting_approvals().unwrap();
            let Some(approval) = waiting.first() else { return "nothing is asked".to_owned() };
            let principal = Principal { name: rest.to_owned(), groups: Vec::new(), person: true };
            let shown: Digest = approval.binding.digest();
            match worker.answer(&approval.id, principal, decision, "", &shown) {
                Ok(answered) => answered.state.to_string(),
                Err(not) => not.to_string(),
            }
        };
        match verb {
            "approve" => drop(answered(Decision::Approve)),
            "deny" => drop(answered(Decision::Deny)),
            "stop" => {
                *self.house.stopped.lock().unwrap() = true;
                worker.void_approvals(None, "the stop switch is set").unwrap();
            }
            "start" => *self.house.stopped.lock().unwrap() = false,
            "storm" => *self.house.in_storm.lock().unwrap() = rest == "on",
            "policy" => *self.house.policy.lock().unwrap() = Policy::read(rest),
            "configuration" => *self.house.configuration.lock().unwrap() = Digest::of(rest.as_bytes()),
            "by_hand" => {
                for adapter in self.house.adapters.values() {
                    let mut identity = adapter.identity.lock().unwrap();
                    *identity = identity.clone().with(Mark::StartTime, "by hand");
                }
            }
            "unreachable" => {
                for adapter in self.house.adapters.values() {
                    *adapter.unreachable.lock().unwrap() = Some("connection refused".to_owned());
                }
            }
            // A detector that sees it come and go.
            "flaps" => {
                let told = symptom(self.script.kind, Condition::Firing, Vec::new());
                worker.report(&Symptom { flags: [IncidentFlag::Flapping].into(), ..told }).unwrap();
            }
            "world" => {
                for adapter in self.house.adapters.values() {
                    *adapter.state.lock().unwrap() = Some(WorldState::parse(rest).unwrap());
                }
            }
            "removed" => self.house.removed.lock().unwrap().push(Action::parse(rest).unwrap()),
            "propose" => {
                let (action, who) = rest.split_once(' ').unwrap();
                let id = self.incident.borrow().clone().unwrap();
                let fraud = Application::parse("fraud").unwrap();
                let done = worker.propose(&id, &fraud, Action::parse(action).unwrap(), who, "it hangs");
                self.note("propose", done);
            }
            // A machine that has the application, or a target, and is never heard of again.
            "gone_with" => {
                let (key, seconds) = rest.split_once(' ').unwrap();
                let key = if key == "application" { "application:fraud".to_owned() } else { format!("target:{key}") };
                let millis = seconds.parse::<u64>().unwrap() * 1_000;
                let had = self.store.lease(&key, "gone/1", self.clock.now(), millis).unwrap();
                assert!(had.is_some(), "{key} is another's");
            }
            // A worker that stands still with what it made of the run, until another one has gone on.
            "stalls" => {
                let (inner, house, agent, clock) = (self.store.as_ref(), &self.house, &self.agent, &self.clock);
                let (stood, came_of_it) = (AtomicBool::new(false), Mutex::new(String::new()));
                let store = Hooked::new(
                    inner,
                    Box::new(|store, change| {
                        if stood.swap(true, Relaxed) {
                            return store.commit(change);
                        }
                        clock.pass(300_000);
                        let world = World { store: inner, house, agent, clock, caps: Caps::default() };
                        Loop::new(world, "successor").tick(50).unwrap();
                        let made = store.commit(change);
                        let told = made.as_ref().map_or_else(ToString::to_string, |_| "written".to_owned());
                        *came_of_it.lock().unwrap() = told;
                        made
                    }),
                );
                Loop::new(self.world(&store), "stalled").tick(1).unwrap();
                self.notes.borrow_mut().push(format!("stalled: {}", came_of_it.lock().unwrap()));
            }
            // Another replica of the alerts says how it stands.
            "report" => {
                let condition = Condition::parse(rest).unwrap();
                drop(worker.report(&symptom(self.script.kind, condition, Vec::new())).unwrap());
                self.reported.set(Some(condition));
            }
            "hold" => self.note("hold", worker.hold(&self.incident.borrow().clone().unwrap(), rest == "on", "ann")),
            "retry" => self.note("retry", worker.retry(&self.incident.borrow().clone().unwrap(), "ann")),
            "ack" => self.note("ack", worker.acknowledge(&self.incident.borrow().clone().unwrap(), rest)),
            "undo" => {
                self.note("undo", worker.undo(&self.incident.borrow().clone().unwrap(), "ann", "it is the wrong one"))
            }
            "close" => {
                let id = self.incident.borrow().clone().unwrap();
                self.note("close", worker.close(&id, "ann", "seen to", rest == "false_alarm"));
            }
            "settle" => {
                let receipt = self.store.unsettled().unwrap().first().cloned().expect("an unsettled receipt");
                let state = sanare_core::service::ReceiptState::parse(rest).unwrap();
                worker.settle(&receipt.id, state, "ann", "looked at it").unwrap();
            }
            other => panic!("unknown event {other}"),
        }
    }
}

pub fn symptom(kind: IncidentKind, condition: Condition, evidence: Vec<(Observation, f64)>) -> Symptom {
    Symptom {
        about: Vec::new(),
        application: Application::parse("fraud").unwrap(),
        component: Component::default(),
        kind,
        severity: None,
        condition,
        labels: Vec::new(),
        evidence,
        flags: std::collections::BTreeSet::<IncidentFlag>::new(),
        inhibited_by: None,
    }
}

fn versions(changed: bool) -> Vec<LiveSpan> {
    let span = |version: &str, from: Moment, to: Option<Moment>, standing| LiveSpan {
        version: Version::parse(version).unwrap(),
        from,
        to,
        moved_by: MovedBy::Others,
        standing,
    };
    let moved = begin().minus(if changed { 10 * MINUTE } else { 30 * HOUR });
    vec![span("41", begin().minus(900 * HOUR), Some(moved), Standing::Good), span("42", moved, None, Standing::Unknown)]
}

fn adapter(target: &Target) -> ScriptedAdapter {
    let fence = target.fence.then(|| vec![Mark::Generation]);
    let written = Written {
        idempotent: Some(target.idempotent),
        reversible: Some(target.reversible),
        undo: target.reversible.then_some(match target.action {
            Action::RequestRetraining if !target.jobs.is_empty() => Undo::CancelJob,
            _ => Undo::MoveBack,
        }),
        identity_probe: fence.as_ref().map(|_| "score".to_owned()),
        fence,
        blast: Some(Blast { touched: 1, of: target.of }),
        preconditions: target.precondition.as_ref().map(|_| vec!["artefact".to_owned()]),
        timeout_ms: Some(60_000),
        ..Written::default()
    };
    let key = TargetKey::parse(format!("command:fraud/{}", target.action)).unwrap();
    let declaration = Declaration::check(target.action, key, written).unwrap();
    let identity = Identity::default()
        .with(Mark::Generation, "0")
        .with(Mark::StartTime, "start 0")
        .with(Mark::AliasVersion, "42")
        .with(Mark::ServedVersion, "42");
    let mut adapter = ScriptedAdapter::new(declaration, identity);
    if !target.jobs.is_empty() {
        let within = sanare_core::service::job::longest(target.action).unwrap_or(HOUR);
        adapter.follows = Some(Following { every: MINUTE, within });
        *adapter.jobs.lock().unwrap() = target.jobs.iter().map(|word| job(word)).collect();
    }
    *adapter.state.lock().unwrap() = target.state;
    *adapter.reactions.lock().unwrap() = target.reactions.iter().map(|word| reaction(word)).collect();
    adapter.breaks.lock().unwrap().clone_from(&target.breaks);
    if !target.reachable {
        *adapter.unreachable.lock().unwrap() = Some("connection refused".to_owned());
    }
    *adapter.rehearsal.lock().unwrap() = target
        .precondition
        .iter()
        .map(|answer| match answer.as_str() {
            "passed" => GateCheck::passed("preconditions", "artefact"),
            "failed" => GateCheck::failed("preconditions", "artefact", "the artefact is gone"),
            _ => GateCheck::skipped("preconditions", "artefact", "the storage cannot be reached"),
        })
        .collect();
    adapter
}

/// `rules`, `panics`, `fails`, `silent`, `foreign` (answers of another incident), `unoffered`, `made_up` (cites what it was
/// not sent), `old` (of another snapshot), `always ACTION`, `reads WORD ACTION` (does that
/// once a check has said the word), `endless` (whatever is still offered, never escalating).
pub fn agent(word: &str) -> ScriptedAgent {
    let word = word.to_owned();
    ScriptedAgent {
        behaviour: Box::new(move |context, call| {
            let mut result = RulesAgent.answer(context, call.diagnosis_id.clone(), call.now);
            let advise = |action: Action| Advice {
                action,
                rationale: Text::of("it was told to"),
                expected_outcome: Text::of("it is well"),
            };
            let confident = |result: &mut sanare_core::service::AgentResult| {
                result.diagnosis.probable_cause = Some(Text::of("it is told to know"));
                result.diagnosis.confidence_reported = 0.9;
                result.diagnosis.confidence = 0.9;
            };
            match word.split_once(' ').unwrap_or((word.as_str(), "")) {
                ("panics", _) => panic!("scripted"),
                ("fails", _) => return Err(sanare_core::service::AgentFailure::Connection),
                ("silent", _) => result.advice = None,
                ("foreign", _) => result.diagnosis.incident_id = Id::from_text("inc_other"),
                ("made_up", _) => result.diagnosis.evidence_used = vec![Id::from_text("obs_made_up")],
                ("old", _) => result.diagnosis.evidence_digest = Digest::of(b"another"),
                ("always", action) => {
                    confident(&mut result);
                    result.advice = Some(advise(Action::parse(action).unwrap()));
                }
                ("endless", _) => {
                    let offered = context.available_actions.iter().copied().find(|action| *action != Action::Escalate);
                    confident(&mut result);
                    result.advice = offered.map(advise);
                }
                ("reads", rest) => {
                    let (word, action) = rest.split_once(' ').unwrap();
                    let of_checks = |seen: &&Observation| seen.signal.as_str().starts_with("diagnostic/");
                    let checks: Vec<_> = context.evidence.iter().filter(of_checks).collect();
                    let says = |seen: &&Observation| serde_json::json!(seen.value).to_string().contains(word);
                    let open = context.available_actions.contains(&Action::RunDiagnostic);
                    confident(&mut result);
                    result.advice = Some(advise(match checks.into_iter().find(says) {
                        Some(seen) => {
                            result.diagnosis.evidence_used = vec![seen.id.clone()];
                            Action::parse(action).unwrap()
                        }
                        None if open => Action::RunDiagnostic,
                        None => Action::Escalate,
                    }));
                }
                ("random", seed) => {
                    let seed: usize = seed.parse().unwrap();
                    let offered = &context.available_actions;
                    let round = context.previous_attempts().len();
                    let place = (seed / 7_usize.pow(u32::try_from(round % 6).unwrap())) % offered.len();
                    confident(&mut result);
                    result.advice = Some(advise(offered[place]));
                }
                _ => {}
            }
            Ok(result)
        }),
    }
}

/// Plays a script to its end, on this store.
pub fn play(script: &Script, store: Box<dyn ServiceStore>) -> String {
    let stage = Stage::on(script, store);
    let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
    let mut out = Vec::new();
    let mut seen = 0;
    for _ in 0..=script.minutes * 4 {
        turn(&stage, &worker);
        if let Some(incident) = stage.incident.borrow().as_ref() {
            let records = stage.store.records_of(incident).unwrap();
            out.extend(records.iter().skip(seen).map(line));
            seen = records.len();
        }
        stage.clock.pass(15_000);
    }
    out.extend(ending(&stage));
    out.join("\n")
}

/// A quarter of a minute: what the plant shows, what detectors say, what people do, what the loop does.
pub fn turn(stage: &Stage, worker: &Loop<'_>) {
    let second = stage.second();
    stage.plant();
    if let Some(symptom) = stage.symptom() {
        match worker.report(&symptom).unwrap() {
            Reported::Opened(id) | Reported::Reopened(id) => *stage.incident.borrow_mut() = Some(id),
            Reported::Updated(_) | Reported::Nothing => {}
        }
    }
    for event in stage.script.at.iter().filter(|event| event.minute * 60 == second) {
        stage.event(&event.what, worker);
    }
    worker.tick(50).unwrap();
}
