//! What holds for any agent, any adapters, any people and any plant.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use sanare_core::service::{Action, IncidentKind, Params, StepName};

use super::crash::check;
use super::theatre::{Event, Script, Stage, Target, turn};
use sanare_engine::service::Loop;

fn target(action: Action) -> impl Strategy<Value = Target> {
    let reaction = prop::sample::select(vec![
        "obeys",
        "obeys",
        "obeys",
        "acts_says:unknown",
        "acts_says:refused",
        "says:done",
        "says:unknown",
        "says:refused",
        "says:not_started",
        "panics",
        "acts_panics",
    ]);
    let jobs = prop::sample::select(vec!["running", "done 43", "failed", "missing", "many", "cannot_tell"]);
    let state = prop::option::of(prop::sample::select(sanare_core::service::WorldState::ALL.to_vec()));
    let precondition = prop::option::weighted(0.3, prop::sample::select(vec!["passed", "failed", "skipped"]));
    (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        1..5_u32,
        prop::collection::vec(reaction, 0..3),
        state,
        prop::bool::weighted(0.9),
        precondition,
        prop::collection::vec(jobs, 0..3),
        prop::option::weighted(
            0.2,
            prop::sample::select(vec!["available", "identity", "rehearse", "state", "follows", "job"]),
        ),
    )
        .prop_map(
            move |(fence, idempotent, reversible, of, reactions, state, reachable, precondition, jobs, breaks)| {
                Target {
                    action,
                    fence,
                    idempotent,
                    reversible,
                    of,
                    reactions: reactions.into_iter().map(str::to_owned).collect(),
                    state,
                    reachable,
                    precondition: precondition.map(str::to_owned),
                    jobs: if sanare_core::service::job::longest(action).is_some() {
                        jobs.into_iter().map(str::to_owned).collect()
                    } else {
                        Vec::new()
                    },
                    breaks: breaks.map(str::to_owned),
                }
            },
        )
}

/// Scripts in one of these modes.
fn script(modes: Vec<&'static str>) -> impl Strategy<Value = Script> {
    let events = prop::sample::select(vec![
        "approve ann",
        "approve bob",
        "approve ann",
        "deny bob",
        "approve eve",
        "stop",
        "start",
        "storm on",
        "storm off",
        "by_hand",
        "unreachable",
        "configuration other",
        "policy version = 1\nmode = \"auto\"\nhistory_min = 0\n",
        "policy version = 2",
    ]);
    let events = prop::collection::vec((0..70_u64, events), 0..5);
    let agent = prop_oneof![
        Just("rules".to_owned()),
        Just("endless".to_owned()),
        (0..100_000_usize).prop_map(|seed| format!("random {seed}")),
    ];
    let targets = (
        prop::option::weighted(0.8, target(Action::RestartComponent)),
        prop::option::weighted(0.7, target(Action::ReloadModel)),
        prop::option::weighted(0.7, target(Action::RollbackModel)),
        prop::option::weighted(0.4, target(Action::RequestRedeployment)),
        prop::option::weighted(0.4, target(Action::RequestRetraining)),
    );
    let plant = (
        prop::option::of(prop::sample::select(Action::ALL.to_vec())),
        prop::option::weighted(0.3, 0..60_u64),
        prop::option::weighted(0.2, 0..60_u64),
        prop::bool::weighted(0.3),
        any::<bool>(),
    );
    let mode = prop::sample::select(modes);
    let kind = prop::sample::select(IncidentKind::ALL.to_vec());
    (kind, mode, agent, targets, plant, events, any::<bool>()).prop_map(
        |(kind, mode, agent, targets, plant, events, checks)| {
            let (one, two, three, four, five) = targets;
            let (cured_by, passes, silent_from, worse, changed) = plant;
            Script {
                kind,
                mode: serde_json::from_value(mode.into()).unwrap(),
                policy: String::new(),
                minutes: 150,
                changed,
                registry_right: changed,
                cured_by,
                passes,
                silent_from,
                relapses_after: None,
                worse,
                agent,
                hangs: false,
                secret: false,
                was_seen: true,
                probe: None,
                diagnostics: if checks {
                    vec!["one".to_owned(), "two".to_owned(), "three".to_owned()]
                } else {
                    Vec::new()
                },
                target: [one, two, three, four, five].into_iter().flatten().collect(),
                at: events.into_iter().map(|(minute, what)| Event { minute, what: what.to_owned() }).collect(),
            }
        },
    )
}

/// Half of the ten thousand: the other half is the other property's.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(5_000)
}

/// Seeds of cases that failed stay beside this file, and are played first.
fn kept() -> ProptestConfig {
    let file =
        FileFailurePersistence::Direct(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/service/properties.regressions"));
    ProptestConfig { cases: cases(), failure_persistence: Some(Box::new(file)), ..ProptestConfig::default() }
}

/// Minutes after its end for which a run is still watched: nothing may begin by itself.
const AFTER: u64 = 15;

proptest! {
    #![proptest_config(kept())]

    /// Invariants 1, 2, 6 and 8 over whole runs: nothing twice, nothing without a receipt, nothing wider than configured,
    /// and an end that somebody is told of.
    #[test]
    fn any_run_that_decides_by_itself_keeps_the_promises(script in script(vec!["auto"])) {
        played(&script)?;
    }

    /// The same where a person is asked, or where it is only looked.
    #[test]
    fn any_run_that_asks_or_looks_keeps_the_promises(script in script(vec!["ask", "ask", "dry_run", "observe"])) {
        played(&script)?;
    }
}

fn played(script: &Script) -> Result<(), TestCaseError> {
    std::panic::set_hook(Box::new(|_| {}));
    let stage = Stage::new(script);
    let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
    let last = script.at.iter().map(|event| event.minute).max().unwrap_or(0);
    let mut over = 0;
    for minute in 0..script.minutes {
        turn(&stage, &worker);
        stage.clock.pass(60_000);
        let ended = |id: &sanare_core::id::Id| stage.store_run(id).step.name() == StepName::Closed;
        over = if stage.incident.borrow().as_ref().is_some_and(ended) { over + 1 } else { 0 };
        if minute >= last && over > AFTER {
            break;
        }
    }
    let Some(id) = stage.incident.borrow().clone() else { return Ok(()) };
    check(&stage, script);
    let run = stage.store_run(&id);
    // An open question has half an hour, a wait ten minutes, a window at most an hour; a storm or a hand may hold it.
    let held = *stage.house.in_storm.lock().unwrap();
    let step = run.step.name();
    prop_assert!(
        held || matches!(step, StepName::Closed | StepName::Waiting | StepName::Applied),
        "it stands at {step}"
    );
    for (action, adapter) in &stage.house.adapters {
        for call in adapter.calls.lock().unwrap().iter() {
            prop_assert_eq!(&call.target, &adapter.declaration.target);
            let ours = match &call.params {
                Params::Restart { component } => component.as_str() == "application",
                Params::Rollback { from_version, to_version } => {
                    (from_version.as_str(), to_version.as_str()) == ("42", "41")
                }
                Params::Empty => true,
                Params::Diagnostic { .. } => false,
            };
            prop_assert!(ours, "{}: {:?}", action, call.params);
        }
    }
    if matches!(script.mode, sanare_core::incident::Mode::Observe | sanare_core::incident::Mode::DryRun) {
        prop_assert!(stage.house.adapters.values().all(|one| one.calls.lock().unwrap().is_empty()));
    }
    Ok(())
}
