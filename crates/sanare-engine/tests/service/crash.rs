//! Workers that die before and after every write: nothing is acted twice, nothing is lost, nobody is left untold.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use sanare_core::port::StoreFault;
use sanare_core::service::run::MessageKind;
use sanare_core::service::{Change, Effect, Moment, Purpose, Receipt, ReceiptState, ServiceStore, StepName};
use sanare_engine::service::Loop;

use super::hooked::Hooked;
use super::theatre::{Script, Stage, turn};

/// A store that a worker dies on: at one write, before it or after it, and from then on it answers nothing.
fn mortal<'a>(inner: &'a dyn ServiceStore, left: &'a AtomicUsize, after: bool) -> Hooked<'a> {
    let commit = move |store: &dyn ServiceStore, change: &Change| match left.load(Relaxed) {
        0 => Err(StoreFault::Busy.into()),
        1 => {
            left.store(0, Relaxed);
            if after {
                store.commit(change)?;
            }
            Err(StoreFault::Busy.into())
        }
        more => {
            left.store(more - 1, Relaxed);
            store.commit(change)
        }
    };
    Hooked { inner, commit: Box::new(commit), is_dead: Box::new(move || left.load(Relaxed) == 0) }
}

/// Plays a script with a worker that dies at the given writes of the loop, one after the other; reports are made by
/// somebody who lives. Returns how often it died.
fn play(script: &Script, deaths: &[(usize, bool)]) -> usize {
    let stage = Stage::new(script);
    let reporter = Loop::new(stage.world(stage.store.as_ref()), "reporter");
    let lives: Vec<(AtomicUsize, bool)> =
        deaths.iter().chain(&[(usize::MAX, false)]).map(|(at, after)| (AtomicUsize::new(*at), *after)).collect();
    let mortals: Vec<Hooked<'_>> =
        lives.iter().map(|(left, after)| mortal(stage.store.as_ref(), left, *after)).collect();
    let mut died = 0;
    let mut worker = Loop::new(stage.world(&mortals[0]), "worker");
    for _ in 0..=script.minutes * 4 {
        report(&stage, &reporter);
        while worker.tick(50).is_err() {
            assert!((mortals[died].is_dead)(), "a fault that nobody made");
            died += 1;
            worker = Loop::new(stage.world(&mortals[died]), "worker");
        }
        stage.clock.pass(15_000);
        if is_over(&stage) {
            break;
        }
    }
    check(&stage, script);
    died
}

/// Whether nothing more can come.
fn is_over(stage: &Stage) -> bool {
    let incident = stage.incident.borrow();
    let run = incident.as_ref().and_then(|id| stage.store.run(id).unwrap());
    run.is_some_and(|run| run.due.is_none())
}

/// A turn without the loop's own steps.
fn report(stage: &Stage, reporter: &Loop<'_>) {
    stage.plant();
    if let Some(symptom) = stage.symptom()
        && let sanare_engine::service::Reported::Opened(id) = reporter.report(&symptom).unwrap()
    {
        *stage.incident.borrow_mut() = Some(id);
    }
    let second = stage.second();
    for event in stage.script.at.iter().filter(|event| event.minute * 60 == second) {
        stage.event(&event.what, reporter);
    }
}

/// What holds whatever died when.
pub fn check(stage: &Stage, script: &Script) {
    let id = stage.incident.borrow().clone().expect("there is an incident");
    let store = stage.store.as_ref();
    let receipts = store.receipts_of(&id).unwrap();
    for (action, adapter) in &stage.house.adapters {
        let calls = adapter.calls.lock().unwrap();
        for call in calls.iter() {
            let receipt =
                receipts.iter().find(|receipt| receipt.id == call.receipt_id).expect("no call without a receipt");
            assert!(receipt.started_at.is_some(), "no call without a started receipt");
            assert_eq!((&receipt.key, receipt.fence), (&call.key, call.fence));
            let same = calls.iter().filter(|other| other.key == call.key).count();
            assert!(same == 1 || adapter.declaration.idempotent, "{action} was called {same} times on one receipt");
        }
        let acts = calls.iter().filter(|call| call.key.purpose == Purpose::Act);
        let harmless = |receipt: &&Receipt| {
            receipt.key.action == *action && matches!(receipt.effect, Some(Effect::Refused | Effect::NotStarted))
        };
        let declined = receipts.iter().filter(harmless).count();
        let mut keys: Vec<_> = acts.map(|call| call.key.clone()).collect();
        keys.sort();
        keys.dedup();
        assert!(keys.len() <= 1 + declined.min(1), "{action} was tried {} times in an incident", keys.len());
    }
    assert!(receipts.iter().filter(|one| one.started_at.is_some() && one.key.purpose == Purpose::Act).count() <= 3);
    let run = store.run(&id).unwrap().expect("no run is lost");
    let incident = store.incident(&id).unwrap().expect("no incident is lost");
    let records = store.records_of(&id).unwrap();
    let told = |kind: MessageKind| store.outbox(1_000).unwrap().iter().any(|message| message.kind == kind);
    for receipt in receipts.iter().filter(|receipt| receipt.state == ReceiptState::Unknown) {
        assert!(told(MessageKind::Escalation), "nobody was told of {:?}", receipt.key);
    }
    assert!(
        !receipts.iter().any(|receipt| receipt.state == ReceiptState::Started && run.due.is_none()),
        "an act is forgotten"
    );
    if run.step.name() == StepName::Closed {
        let outcome = incident.outcome.expect("it ended somehow");
        use sanare_core::outcome::Outcome;
        match outcome {
            Outcome::Escalated => assert!(told(MessageKind::Escalation)),
            Outcome::RolledBack => assert!(told(MessageKind::RolledBack)),
            Outcome::Refused => {
                let silent =
                    matches!(script.mode, sanare_core::incident::Mode::Observe | sanare_core::incident::Mode::DryRun);
                assert!(silent || told(MessageKind::Refused));
            }
            Outcome::Healed => {
                let verified =
                    records.iter().any(|record| record.step == "verified" && record.payload.contains("\"recovered\""));
                let by_action = incident.closed_by == Some(sanare_core::service::ClosedBy::Action);
                assert!(!by_action || verified, "healed by an act that was not verified");
            }
        }
    } else {
        assert!(run.due.is_some(), "it stands at {} for ever", run.step.name());
    }
    for approval in store.waiting_approvals().unwrap() {
        assert!(
            approval.expires_at.micros() + 20_000_000
                > Moment::from_millis(sanare_core::port::Clock::now(&stage.clock)).micros(),
            "a question past its time"
        );
    }
    assert!(store.verify_chain().unwrap().is_ok());
}

fn script(text: &str) -> Script {
    toml::from_str(text).unwrap()
}

fn scripts() -> Vec<Script> {
    let mut all = Vec::new();
    for idempotent in [false, true] {
        for reaction in ["obeys", "acts_says:unknown", "says:unknown", "says:refused", "acts_panics"] {
            all.push(script(&format!(
                "kind = \"model_load_failed\"\nminutes = 60\ncured_by = \"rollback_model\"\n\
                 [[target]]\naction = \"reload_model\"\nidempotent = {idempotent}\nreactions = [\"{reaction}\"]\n\
                 [[target]]\naction = \"rollback_model\"\nreversible = true\nidempotent = {idempotent}\n"
            )));
        }
        all.push(script(&format!(
            "kind = \"quality_low\"\nchanged = true\nworse = true\nminutes = 40\n\
             [[target]]\naction = \"rollback_model\"\nreversible = true\nidempotent = {idempotent}\n"
        )));
        all.push(script(&format!(
            "kind = \"unreachable\"\nmode = \"ask\"\nminutes = 40\ncured_by = \"restart_component\"\n\
             [[target]]\naction = \"restart_component\"\nidempotent = {idempotent}\n[[at]]\nminute = 3\ndo = \"approve ann\"\n"
        )));
    }
    all
}

#[test]
fn a_worker_that_dies_before_or_after_any_write() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut runs = 0;
    for script in scripts() {
        for after in [false, true] {
            for at in 1..200 {
                runs += 1;
                if play(&script, &[(at, after)]) == 0 {
                    break;
                }
            }
        }
    }
    assert!(runs > 500, "only {runs} deaths");
}

#[test]
fn two_workers_that_die_one_after_the_other() {
    std::panic::set_hook(Box::new(|_| {}));
    for script in scripts().into_iter().step_by(3) {
        for first in 1..14 {
            for second in 1..14 {
                play(&script, &[(first, first % 2 == 0), (second, second % 3 == 0)]);
            }
        }
    }
}

/// A worker that is cut off from the store at any write and goes on all the same begins no call from then on; another one
/// brings the run to its end (S108).
#[test]
fn a_worker_that_is_cut_off_from_the_store_calls_nothing_more() {
    std::panic::set_hook(Box::new(|_| {}));
    let calls = |stage: &Stage| -> usize {
        stage.house.adapters.values().map(|adapter| adapter.calls.lock().unwrap().len()).sum()
    };
    for script in scripts().into_iter().step_by(4) {
        for at in 1..200 {
            let stage = Stage::new(&script);
            let left = AtomicUsize::new(at);
            let cut_off = mortal(stage.store.as_ref(), &left, at % 2 == 0);
            let [one, other] = [&cut_off as &dyn ServiceStore, stage.store.as_ref()];
            let (one, other) = (Loop::new(stage.world(one), "one"), Loop::new(stage.world(other), "other"));
            let reporter = Loop::new(stage.world(stage.store.as_ref()), "reporter");
            for _ in 0..=script.minutes * 4 {
                report(&stage, &reporter);
                let (was_cut, before) = ((cut_off.is_dead)(), calls(&stage));
                // What it has begun before it was cut off, it may end; after that it only fails.
                let went = one.tick(50);
                assert!(!was_cut || went.is_err() && calls(&stage) == before, "cut off at write {at}, and called");
                if (cut_off.is_dead)() {
                    other.tick(50).unwrap();
                }
                stage.clock.pass(15_000);
                if is_over(&stage) {
                    break;
                }
            }
            check(&stage, &script);
            if !(cut_off.is_dead)() {
                break;
            }
        }
    }
}

fn read(stage: &Stage, policy: &str) {
    *stage.house.policy.lock().unwrap() = sanare_core::policy::Policy::read(&format!("version = 1\n{policy}"));
}

/// After a death between receipt and call everything is compared again: what policy, a person's answer or the configuration
/// do not allow any more is not done by who takes over, although it could be.
#[test]
fn who_takes_over_acts_only_on_what_still_holds() {
    type Change = (&'static str, fn(&Stage));
    let changes: [Change; 7] = [
        ("nothing", |_| {}),
        ("forbidden", |stage| read(stage, "mode = \"auto\"\nhistory_min = 0\nforbidden = [\"restart_component\"]\n")),
        ("asks now", |stage| read(stage, "mode = \"ask\"\n")),
        ("unreadable", |stage| read(stage, "mode = \n")),
        ("observe", |stage| *stage.house.mode.lock().unwrap() = sanare_core::incident::Mode::Observe),
        ("stopped", |stage| *stage.house.stopped.lock().unwrap() = true),
        ("configuration", |stage| {
            *stage.house.configuration.lock().unwrap() = sanare_core::hash::Digest::of(b"another");
        }),
    ];
    for asked in [false, true] {
        for (what, change) in changes {
            let stage = Stage::new(&script(&format!(
                "kind = \"unreachable\"\nmode = \"{}\"\ncured_by = \"restart_component\"\n\
                 [[target]]\naction = \"restart_component\"\nidempotent = true\n",
                if asked { "ask" } else { "auto" }
            )));
            let reporter = Loop::new(stage.world(stage.store.as_ref()), "reporter");
            report(&stage, &reporter);
            if asked {
                reporter.tick(50).unwrap();
                stage.event("approve ann", &reporter);
            }
            let started = AtomicBool::new(false);
            let dying = Hooked::new(
                stage.store.as_ref(),
                Box::new(|store, written| {
                    if started.load(Relaxed) {
                        return Err(StoreFault::Busy.into());
                    }
                    let made = store.commit(written)?;
                    if written.receipts.iter().any(|(one, _)| one.state == ReceiptState::Started) {
                        started.store(true, Relaxed);
                        return Err(StoreFault::Busy.into());
                    }
                    Ok(made)
                }),
            );
            assert!(Loop::new(stage.world(&dying), "first").tick(50).is_err());
            assert!(started.load(Relaxed), "{what}");
            change(&stage);
            let second = Loop::new(stage.world(stage.store.as_ref()), "second");
            for _ in 0..20 {
                stage.clock.pass(15_000);
                turn(&stage, &second);
            }
            let id = stage.incident.borrow().clone().unwrap();
            let receipt = &stage.store.receipts_of(&id).unwrap()[0];
            let calls = stage.house.adapters.values().map(|one| one.calls.lock().unwrap().len()).sum::<usize>();
            let wanted = if what == "nothing" { (1, ReceiptState::Done) } else { (0, ReceiptState::Unknown) };
            assert_eq!((calls, receipt.state), wanted, "{what}, asked {asked}");
        }
    }
}

/// An idempotent act that never arrived is done after the death; one that is not is left to a person.
#[test]
fn after_a_death_between_receipt_and_call() {
    for idempotent in [true, false] {
        let script = script(&format!(
            "kind = \"unreachable\"\nminutes = 40\ncured_by = \"restart_component\"\n\
             [[target]]\naction = \"restart_component\"\nidempotent = {idempotent}\n"
        ));
        // The write that starts the receipt is the eighth of the loop; its answer is lost.
        let stage = Stage::new(&script);
        let left = AtomicUsize::new(8);
        let dying = mortal(stage.store.as_ref(), &left, true);
        let (reporter, first) =
            (Loop::new(stage.world(stage.store.as_ref()), "reporter"), Loop::new(stage.world(&dying), "worker"));
        report(&stage, &reporter);
        assert!(first.tick(50).is_err());
        let id = stage.incident.borrow().clone().unwrap();
        assert_eq!(stage.store.receipts_of(&id).unwrap()[0].state, ReceiptState::Started);
        let second = Loop::new(stage.world(stage.store.as_ref()), "worker");
        // As long as the first may be at work its lease holds, and nothing is done.
        assert_eq!(second.tick(50).unwrap(), 0);
        for _ in 0..160 {
            turn(&stage, &second);
            stage.clock.pass(15_000);
        }
        let outcome = stage.store.incident(&id).unwrap().unwrap().outcome.map(|outcome| format!("{outcome:?}"));
        let calls = stage.house.adapters.values().map(|one| one.calls.lock().unwrap().len()).sum::<usize>();
        assert_eq!((outcome.as_deref(), calls), if idempotent { (Some("Healed"), 1) } else { (Some("Escalated"), 0) });
    }
}
