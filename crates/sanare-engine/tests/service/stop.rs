//! The stop switch, thrown around every write of a run: no call begins after it, what is in progress is followed to its
//! end, and lifting it begins nothing.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use sanare_core::service::port::House as _;
use sanare_core::service::word::ApprovalState;
use sanare_core::service::{Application, ReceiptState, StepName};
use sanare_engine::service::Loop;

use super::hooked::Hooked;
use super::theatre::{Script, Stage, turn};

/// Where the switch is thrown.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    BeforeWrite,
    AfterWrite,
}

const SCRIPTS: [(&str, &str); 4] = [
    (
        "a restart by itself",
        "kind = \"unreachable\"\nminutes = 40\ncured_by = \"restart_component\"\n[[target]]\naction = \"restart_component\"\n",
    ),
    (
        "a rollback that a person approves",
        "kind = \"error_rate_high\"\nmode = \"ask\"\nminutes = 60\nchanged = true\n\
         [[target]]\naction = \"rollback_model\"\nreversible = true\n[[at]]\nminute = 3\ndo = \"approve ann\"\n",
    ),
    (
        "an act that makes it worse and is taken back",
        "kind = \"error_rate_high\"\nminutes = 60\nchanged = true\nworse = true\n\
         [[target]]\naction = \"rollback_model\"\nreversible = true\n",
    ),
    (
        "an act of which nobody knows, done again after a look",
        "kind = \"unreachable\"\nminutes = 40\n[[target]]\naction = \"restart_component\"\nidempotent = true\n\
         reactions = [\"says:unknown\"]\n",
    ),
];

/// Plays a script with the switch thrown at the n-th write; whether there was an n-th.
fn play(name: &str, script: &Script, at: usize, moment: Moment) -> bool {
    let stage = Stage::new(script);
    let calls = || stage.house.adapters.values().map(|one| one.calls.lock().unwrap().len()).sum::<usize>();
    let (writes, thrown) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let throw = || {
        *stage.house.stopped.lock().unwrap() = true;
        thrown.store(calls(), SeqCst);
    };
    let store = Hooked::new(
        stage.store.as_ref(),
        Box::new(|inner, change| {
            let mine = writes.fetch_add(1, SeqCst) == at;
            if mine && moment == Moment::BeforeWrite {
                throw();
            }
            let made = inner.commit(change);
            if mine && moment == Moment::AfterWrite {
                throw();
            }
            made
        }),
    );
    let worker = Loop::new(stage.world(&store), "worker");
    for _ in 0..script.minutes {
        turn(&stage, &worker);
        if thrown.load(SeqCst) != usize::MAX {
            worker.void_approvals(None, "stopped").unwrap();
        }
        stage.clock.pass(60_000);
    }
    if thrown.load(SeqCst) == usize::MAX {
        return false;
    }
    let told = format!("{name}, thrown at write {at}, {moment:?}");
    assert_eq!(calls(), thrown.load(SeqCst), "{told}: a call began after the stop");
    let id = stage.incident.borrow().clone().unwrap();
    for receipt in stage.store.receipts_of(&id).unwrap() {
        assert!(
            !matches!(receipt.state, ReceiptState::Intended | ReceiptState::Started),
            "{told}: a receipt is left {}",
            receipt.state
        );
    }
    let open = stage.store.open_approvals().unwrap();
    assert!(open.iter().all(|one| !matches!(one.state, ApprovalState::Waiting | ApprovalState::Granted)), "{told}");
    // Lifted, it begins nothing by itself: what was ended stays ended, and no old word counts.
    *stage.house.stopped.lock().unwrap() = false;
    if stage.store_run(&id).step.name() == StepName::Closed {
        for _ in 0..30 {
            turn(&stage, &worker);
            stage.clock.pass(60_000);
        }
        assert_eq!(calls(), thrown.load(SeqCst), "{told}: lifting it began an act");
    }
    true
}

#[test]
fn thrown_at_each_write_no_call_begins_after_it() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut thrown = 0;
    for (name, text) in SCRIPTS {
        let script: Script = toml::from_str(text).unwrap();
        for moment in [Moment::BeforeWrite, Moment::AfterWrite] {
            let mut at = 0;
            while play(name, &script, at, moment) {
                at += 1;
                assert!(at < 1_000, "{name}");
            }
            assert!(at > 10, "{name}: {at}");
            thrown += at;
        }
    }
    eprintln!("stopped at {thrown} moments");
}

/// A switch that is thrown while an act is under way: the act is followed to its end, with the effect that it had.
#[test]
fn an_act_in_progress_is_followed_to_its_end() {
    let script: Script = toml::from_str(SCRIPTS[0].1).unwrap();
    let stage = Stage::new(&script);
    let id = {
        let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
        turn(&stage, &worker);
        stage.incident.borrow().clone().unwrap()
    };
    assert_eq!(stage.store_run(&id).step.name(), StepName::Applied);
    *stage.house.stopped.lock().unwrap() = true;
    assert!(!stage.house.may_begin(&Application::parse("fraud").unwrap()));
    let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
    for _ in 0..30 {
        stage.clock.pass(60_000);
        turn(&stage, &worker);
    }
    let incident = stage.store.incident(&id).unwrap().unwrap();
    assert_eq!(incident.outcome, Some(sanare_core::outcome::Outcome::Healed), "it is still watched");
    assert_eq!(incident.attempts.len(), 1);
}
