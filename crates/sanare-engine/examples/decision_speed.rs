//! How long it takes from a firing symptom to policy's verdict, by the rules alone and with a store in memory, while a
//! thousand other incidents are open; and how long a case takes through a thousand rules of an owner's own. Prints JSON:
//! the 99th of 100 and the median, in milliseconds. Argument: how many incidents.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Mutex;
use std::time::Instant;

use sanare_core::id::Id;
use sanare_core::policy::{Policy, Verdict};
use sanare_core::service::ServiceStore;
use sanare_core::service::confidence::Caps;
use sanare_core::service::declaration::{Declaration, Undo, Written};
use sanare_core::service::moment::Moment;
use sanare_core::service::policy::{Case, Numbers, judge};
use sanare_core::service::port::scripted::{HandClock, ScriptedAdapter, ScriptedAgent, ScriptedHouse};
use sanare_core::service::rules::RulesAgent;
use sanare_core::service::{
    Action, Application, Component, Condition, Draft, Identity, IncidentKind, Mark, Observation, ObservedValue, Signal,
    Source, Stamp, StepName, TargetKey, Trust,
};
use sanare_engine::service::{Loop, Reported, Symptom, World};
use sanare_store::Memory;

type Failed = Box<dyn std::error::Error>;

/// Incidents that are open beside the one that is measured.
const BESIDE: usize = 1_000;

fn main() -> Result<(), Failed> {
    let count: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let mut times = decisions(count)?;
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((share * (times.len() - 1) as f64) as usize).copied().unwrap_or(f64::NAN);
    let told = serde_json::json!({ "p99_ms": at(0.99), "median_ms": at(0.5), "rules_ms": own_rules()? });
    writeln!(io::stdout().lock(), "{told}")?;
    Ok(())
}

/// Milliseconds of each incident, from its report to the step after the verdict.
fn decisions(count: usize) -> Result<Vec<f64>, Failed> {
    let policy = "version = 1\nmode = \"auto\"\nalways_ask = []\napprovals = { approvers = [\"ann\"] }\n";
    let mut house = ScriptedHouse { policy: Mutex::new(Policy::read(policy)), ..ScriptedHouse::default() };
    let written = Written {
        idempotent: Some(true),
        reversible: Some(true),
        undo: Some(Undo::MoveBack),
        timeout_ms: Some(30_000),
        ..Written::default()
    };
    let declaration =
        Declaration::check(Action::RestartComponent, TargetKey::parse("command:fraud/restart")?, written)?;
    let identity = Identity::default().with(Mark::StartTime, "start 0");
    house.adapters.insert(Action::RestartComponent, ScriptedAdapter::new(declaration, identity));
    let behaviour = |context: &_, call: &sanare_core::service::port::AgentCall| {
        Ok(RulesAgent.answer(context, call.diagnosis_id.clone(), call.now))
    };
    let agent = ScriptedAgent { behaviour: Box::new(behaviour) };
    let (store, clock) = (Memory::new(), HandClock::at(Moment::parse("2026-11-30T12:00:00Z")?));
    let world = World { store: &store, house: &house, agent: &agent, clock: &clock, caps: Caps::default() };
    let worker = Loop::new(world, "bench");
    let mut times = Vec::with_capacity(count);
    for number in 0..BESIDE + count {
        let symptom = symptom(number, &clock)?;
        clock.pass(20);
        let begun = Instant::now();
        let Reported::Opened(id) = worker.report(&symptom)? else { return Err("it is opened".into()) };
        let mut verdict = None;
        for _ in 0..20 {
            let run = store.run(&id)?.ok_or("it has a run")?;
            let step = run.step.name();
            if matches!(step, StepName::Judged | StepName::Checked | StepName::Waiting | StepName::Closed) {
                verdict = Some(step);
                break;
            }
            worker.tick(1)?;
        }
        let took = begun.elapsed().as_secs_f64() * 1e3;
        verdict.ok_or("there is no verdict")?;
        if number >= BESIDE {
            times.push(took);
        }
        // The rest of its way is not measured: it ends with a question that waits, and so do all the others.
        while worker.tick(100)? > 0 {}
    }
    Ok(times)
}

fn symptom(number: usize, clock: &dyn sanare_core::port::Clock) -> Result<Symptom, Failed> {
    let application = Application::parse(format!("app-{number}"))?;
    let now = Moment::from_millis(clock.now());
    let stamp = Stamp {
        id: Id::new("obs", clock.now(), clock.chance()),
        arrival: now,
        source: Source::parse("client")?,
        trust: Trust::Own,
    };
    let draft = Draft::new(application.clone(), Signal::parse("serving_error_share")?, ObservedValue::metric(0.5));
    Ok(Symptom {
        application,
        component: Component::default(),
        kind: IncidentKind::ErrorRateHigh,
        severity: None,
        condition: Condition::Firing,
        labels: Vec::new(),
        about: Vec::new(),
        evidence: vec![(Observation::accept(draft, stamp)?, 1.0)],
        flags: BTreeSet::new(),
        inhibited_by: None,
    })
}

/// Milliseconds, the middle of 101, of a case through a thousand rules none of which fires before the last.
fn own_rules() -> Result<f64, Failed> {
    let mut text = "version = 1\nmode = \"auto\"\n".to_owned();
    for number in 0..1_000 {
        writeln!(
            text,
            "[[rule]]\nid = \"r{number}\"\nwhen = {{ application = [\"app-{number}\"], action = [\"restart_component\"] }}\nverdict = \"ask\"\nreason = \"rule {number}\""
        )?;
    }
    let policy = Policy::read(&text);
    let application = Application::parse("app-999")?;
    let numbers = Numbers::of(&policy, &application);
    let case = Case { application, action: Action::RestartComponent, ..Case::default() };
    let mut times = Vec::new();
    for _ in 0..101 {
        let begun = Instant::now();
        let decision = std::hint::black_box(judge(&case, &numbers, &policy));
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        let fired = decision.fired.iter().any(|one| one.rule == "r999");
        if decision.verdict == Verdict::Permit || !fired {
            return Err("the last rule fires".into());
        }
    }
    times.sort_by(f64::total_cmp);
    times.get(50).copied().ok_or_else(|| "no times".into())
}
