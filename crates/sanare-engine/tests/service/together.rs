//! Several runs and several workers at once: one act in flight on a target, limits that hold, a call that begins in time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use sanare_core::id::Id;
use sanare_core::port::Clock;
use sanare_core::service::confidence::Caps;
use sanare_core::service::limits::PastAct;
use sanare_core::service::port::scripted::{HandClock, Reaction};
use sanare_core::service::{
    Action, Application, Change, ClosedBy, Condition, Evidence, IncidentKind, Moment, Observation, ReceiptState, Run,
    ServiceStore, StepName, TargetKey,
};
use sanare_engine::service::{Loop, Reported, World};

use super::hooked::Hooked;
use super::theatre::{Script, Stage, symptom, turn};

fn stage(text: &str) -> Stage {
    Stage::new(&toml::from_str::<Script>(text).unwrap())
}

const RESTART: &str = "kind = \"unreachable\"\nminutes = 30\n[[target]]\naction = \"restart_component\"\n";

/// A second incident that wants the same target waits until the first one's verification is over, and then begins with
/// fresh evidence.
#[test]
fn one_act_in_flight_on_a_target() {
    let stage = stage(&format!("policy = 'cooldown = {{ first = \"1s\", max = \"2s\" }}'\n{RESTART}"));
    let workers =
        [Loop::new(stage.world(stage.store.as_ref()), "one"), Loop::new(stage.world(stage.store.as_ref()), "two")];
    let other = symptom(IncidentKind::ErrorRateHigh, Condition::Firing, vec![(stage.reading(), 1.0)]);
    let Reported::Opened(second) = workers[0].report(&other).unwrap() else { panic!("it opens") };
    let mut seen = Vec::new();
    for minute in 0..30 * 4 {
        for worker in &workers {
            turn(&stage, worker);
        }
        let first = stage.incident.borrow().clone().unwrap();
        let acting = [&first, &second].map(|id| {
            let step = stage.store.run(id).unwrap().unwrap().step.name();
            matches!(step, StepName::Prepared | StepName::Applied | StepName::Undoing)
        });
        assert!(!(acting[0] && acting[1]), "two act on one target at {minute}");
        seen.push(acting);
        stage.clock.pass(15_000);
    }
    assert!(seen.iter().any(|acting| acting[0]) && seen.iter().any(|acting| acting[1]), "each had its turn");
    let rounds = stage.store.records_of(&second).unwrap().iter().filter(|record| record.step == "evident").count();
    assert!(rounds >= 2, "it began anew after it was held");
}

/// A worker that stands still after the receipt was started: by then it is too late to call. As long as it may be at work
/// nobody takes over; when it surely is not any more another one looks at the world, and a person is told what it cannot.
#[test]
fn a_worker_that_stands_still_does_not_call() {
    for seconds in [3, 10, 60, 300] {
        let stage = stage(RESTART);
        let (inner, house, agent, clock) = (stage.store.as_ref(), &stage.house, &stage.agent, &stage.clock);
        let slow = Hooked::new(
            inner,
            Box::new(|store, change| {
                let made = store.commit(change);
                if starts(change) {
                    clock.pass(seconds * 1_000);
                    let world = World { store: inner, house, agent, clock, caps: Caps::default() };
                    Loop::new(world, "successor").tick(50).unwrap();
                }
                made
            }),
        );
        let worker = Loop::new(stage.world(&slow), "worker");
        turn(&stage, &worker);
        let adapter = &stage.house.adapters[&Action::RestartComponent];
        assert_eq!(adapter.calls.lock().unwrap().len(), 0, "{seconds} s lay between the receipt and the call");
        let id = stage.incident.borrow().clone().unwrap();
        let receipts = stage.store.receipts_of(&id).unwrap();
        let wanted = if seconds < 90 { "not_started" } else { "unknown" };
        assert_eq!(receipts[0].effect.map(|effect| effect.word()), Some(wanted), "{seconds} s");
        let told = stage.store.outbox(10).unwrap().len();
        assert!(told > 0 || seconds < 90, "{seconds} s: nobody is told");
    }
}

/// An act may take longer than a worker has an application for otherwise: nobody takes it away meanwhile, so that what
/// the adapter said is not lost.
#[test]
fn nobody_takes_over_while_an_act_is_under_way() {
    let stage = stage(RESTART);
    let taken = AtomicBool::new(false);
    let (inner, house, agent, clock) = (stage.store.as_ref(), &stage.house, &stage.agent, &stage.clock);
    let store = Hooked::new(
        inner,
        Box::new(|store, change| {
            let made = store.commit(change);
            if starts(change) {
                let world = World { store: inner, house, agent, clock, caps: Caps::default() };
                taken.store(Loop::new(world, "other").tick(50).unwrap() > 0, Relaxed);
            }
            made
        }),
    );
    let worker = Loop::new(stage.world(&store), "worker");
    turn(&stage, &worker);
    assert!(!taken.load(Relaxed));
    let id = stage.incident.borrow().clone().unwrap();
    assert_eq!(stage.store.receipts_of(&id).unwrap()[0].state, ReceiptState::Done);
    assert_eq!(stage.house.adapters[&Action::RestartComponent].calls.lock().unwrap().len(), 1);
}

/// Whoever comes by while an act is under way, with a clock that is an hour off, or with one of which it knows that it has
/// just jumped: an act that is not idempotent is not done on top of it, and after a jump none is.
#[test]
fn a_clock_that_is_off_does_not_act_on_top() {
    for (hours, idempotent, jumped) in
        [(1, false, None), (-1, false, None), (-1, true, None), (1, false, Some(0)), (1, true, Some(0))]
    {
        let text = format!("{RESTART}idempotent = {idempotent}\n");
        let stage = stage(&text);
        let (inner, house, agent, clock) = (stage.store.as_ref(), &stage.house, &stage.agent, &stage.clock);
        let off = HandClock::at(Moment::from_millis(Clock::now(clock).saturating_add_signed(hours * 3_600_000)));
        let during = AtomicUsize::new(0);
        let store = Hooked::new(
            inner,
            Box::new(|store, change| {
                let made = store.commit(change);
                if starts(change) {
                    *house.jumped.lock().unwrap() = jumped;
                    let world = World { store: inner, house, agent, clock: &off, caps: Caps::default() };
                    Loop::new(world, "off").tick(50).unwrap();
                    let calls = house.adapters[&Action::RestartComponent].calls.lock().unwrap().len();
                    during.store(calls, Relaxed);
                }
                made
            }),
        );
        let worker = Loop::new(stage.world(&store), "worker");
        turn(&stage, &worker);
        let told = format!("{hours} h, idempotent {idempotent}, {jumped:?}");
        assert_eq!(during.load(Relaxed), 0, "{told}: another one acts while the first is at it");
        assert_eq!(house.adapters[&Action::RestartComponent].calls.lock().unwrap().len(), 1, "{told}");
        // Once the clock is steady it is settled; what was put off by a clock that is ahead is due by that clock.
        *house.jumped.lock().unwrap() = None;
        for _ in 0..90 * 4 {
            stage.clock.pass(15_000);
            turn(&stage, &worker);
        }
        assert_eq!(house.adapters[&Action::RestartComponent].calls.lock().unwrap().len(), 1, "{told}");
        let id = stage.incident.borrow().clone().unwrap();
        let receipts = stage.store.receipts_of(&id).unwrap();
        assert!(receipts.iter().all(|one| one.state != ReceiptState::Started), "{told}: {receipts:?}");
    }
}

/// Two applications share the window of all acts: the second one's decision rests on a count that has moved.
#[test]
fn limits_hold_for_workers_that_look_at_once() {
    let stage = stage(&format!("policy = \"windows = {{ all = {{ hour = 1, day = 50 }} }}\"\n{RESTART}"));
    // Somebody else acts just before the start is written.
    let done = AtomicBool::new(false);
    let rival = Hooked::new(
        stage.store.as_ref(),
        Box::new(|store, change| {
            if starts(change) && !done.swap(true, Relaxed) {
                let act = PastAct {
                    receipt: Id::from_text("rct_rival"),
                    application: Application::parse("churn").unwrap(),
                    target: TargetKey::parse("command:churn/restart").unwrap(),
                    ..change.acts[0].clone()
                };
                store.commit(&Change { now: change.now, acts: vec![act], ..Change::default() }).unwrap();
            }
            store.commit(change)
        }),
    );
    let racing = Loop::new(stage.world(&rival), "racing");
    turn(&stage, &racing);
    let adapter = &stage.house.adapters[&Action::RestartComponent];
    assert_eq!(adapter.calls.lock().unwrap().len(), 0, "the window was full when it was written");
    turn(&stage, &racing);
    let id = stage.incident.borrow().clone().unwrap();
    let step = stage.store.run(&id).unwrap().unwrap().step.name();
    assert_eq!((step, adapter.calls.lock().unwrap().len()), (StepName::Waiting, 0), "then a person is asked");
}

/// An adapter that is called twice by mistake would change twice: the loop never does.
#[test]
fn many_workers_call_once() {
    let stage = stage(RESTART);
    let workers: Vec<Loop<'_>> = (0..8).map(|_| Loop::new(stage.world(stage.store.as_ref()), "same name")).collect();
    stage.house.adapters[&Action::RestartComponent].reactions.lock().unwrap().push_back(Reaction::Obeys);
    for _ in 0..8 {
        for worker in &workers {
            turn(&stage, worker);
        }
        stage.clock.pass(15_000);
    }
    assert_eq!(stage.house.adapters[&Action::RestartComponent].calls.lock().unwrap().len(), 1);
}

/// Another worker that comes by whenever it can: whoever has written the receipt goes on to its call all the same, and nobody
/// waits for a lease of the other.
#[test]
fn between_receipt_and_call_no_other_worker_comes() {
    let stage = stage(RESTART);
    stage.plant();
    let reporter = Loop::new(stage.world(stage.store.as_ref()), "reporter");
    let Reported::Opened(id) = reporter.report(&stage.symptom().unwrap()).unwrap() else { panic!("it opens") };
    let (inner, house, agent, clock) = (stage.store.as_ref(), &stage.house, &stage.agent, &stage.clock);
    let came_by = AtomicUsize::new(0);
    let store = Hooked {
        inner,
        commit: Box::new(|store, change| store.commit(change)),
        is_dead: Box::new(|| {
            if inner.run(&id).unwrap().unwrap().step.name() == StepName::Prepared {
                came_by.fetch_add(1, Relaxed);
                Loop::new(World { store: inner, house, agent, clock, caps: Caps::default() }, "other")
                    .tick(50)
                    .unwrap();
            }
            false
        }),
    };
    Loop::new(stage.world(&store), "worker").tick(50).unwrap();
    assert!(came_by.load(Relaxed) > 0);
    assert_eq!(house.adapters[&Action::RestartComponent].calls.lock().unwrap().len(), 1, "no time has passed");
}

/// Readings that come in during a call do not cost it its effect: they are taken along.
#[test]
fn a_report_during_the_call_loses_nothing() {
    let stage = stage(&format!("{RESTART}reactions = [\"says:refused\"]\n"));
    let reporter = Loop::new(stage.world(stage.store.as_ref()), "reporter");
    let late = stage.reading();
    let store = Hooked::new(
        stage.store.as_ref(),
        Box::new(move |store, change| {
            let made = store.commit(change);
            if starts(change) && made.is_ok() {
                store.commit(&reported(store, &late, change.now)).unwrap();
            }
            made
        }),
    );
    let worker = Loop::new(stage.world(&store), "worker");
    stage.plant();
    let Reported::Opened(id) = reporter.report(&stage.symptom().unwrap()).unwrap() else { panic!("it opens") };
    *stage.incident.borrow_mut() = Some(id.clone());
    worker.tick(50).unwrap();
    let incident = stage.store.incident(&id).unwrap().unwrap();
    let receipts = stage.store.receipts_of(&id).unwrap();
    assert_eq!(receipts[0].effect.map(|effect| effect.word()), Some("refused"), "what the adapter said is kept");
    assert_eq!((incident.attempts.len(), incident.evidence.len()), (1, 2), "and so is what came in meanwhile");
}

/// A symptom that clears in the last moment before the start: nothing is called.
#[test]
fn cleared_in_the_last_moment() {
    let stage = stage(RESTART);
    let reporter = Loop::new(stage.world(stage.store.as_ref()), "reporter");
    let cleared = AtomicBool::new(false);
    let store = Hooked::new(
        stage.store.as_ref(),
        Box::new(|store, change| {
            if starts(change) && !cleared.swap(true, Relaxed) {
                let id = change.incidents[0].id.clone();
                let mut incident = store.incident(&id).unwrap().unwrap();
                incident.condition = Condition::Cleared;
                let run = store.run(&id).unwrap().unwrap();
                let from = Some(run.revision);
                let runs = vec![(Run { revision: run.revision + 1, ..run }, from)];
                store
                    .commit(&Change { now: change.now, incidents: vec![incident], runs, ..Change::default() })
                    .unwrap();
            }
            store.commit(change)
        }),
    );
    let worker = Loop::new(stage.world(&store), "worker");
    stage.plant();
    let Reported::Opened(id) = reporter.report(&stage.symptom().unwrap()).unwrap() else { panic!("it opens") };
    worker.tick(50).unwrap();
    worker.tick(50).unwrap();
    assert!(stage.house.adapters[&Action::RestartComponent].calls.lock().unwrap().is_empty());
    let incident = stage.store.incident(&id).unwrap().unwrap();
    assert_eq!(incident.closed_by, Some(ClosedBy::Itself));
    assert_eq!(stage.store.receipts_of(&id).unwrap()[0].state, ReceiptState::Failed);
}

/// What a report adds: a reading, and a revision of the run.
fn reported(store: &dyn ServiceStore, seen: &Observation, now: u64) -> Change {
    let run = store.due(Moment::from_micros(u64::MAX), 1).unwrap().remove(0);
    let mut incident = store.incident(&run.incident).unwrap().unwrap();
    incident.add_evidence(Evidence { observation: seen.id.clone(), badness: 1.0 });
    let from = Some(run.revision);
    Change {
        now,
        observations: vec![seen.clone()],
        incidents: vec![incident],
        runs: vec![(Run { revision: run.revision + 1, ..run }, from)],
        ..Change::default()
    }
}

/// Whether this change starts a receipt.
fn starts(change: &Change) -> bool {
    change.receipts.iter().any(|(receipt, _)| receipt.state == ReceiptState::Started)
}
