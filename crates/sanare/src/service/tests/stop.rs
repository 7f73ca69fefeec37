//! The stop switch between processes: whoever stops is answered when nobody can begin any more, and no later than that.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sanare_core::service::declaration::Written;
use sanare_core::service::port::{House as _, Intent};
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::{Action, ApprovalState, ReceiptState};
use sanare_effects::service::callback::End;

use super::super::{Asking, Capability, Healer, Setup, Tools, gate};
use super::{ASKS, AUTO, CONFIGURATION, Plant, fraud, goes_bad};

/// Another process with the same configuration and store: it has its own healer and opens its own files.
fn another(plant: &Plant) -> Healer {
    let setup = Setup::read(&plant.healer.setup().file).unwrap();
    let (store, clock) = (Arc::clone(&plant.store), plant.clock.clone());
    let agent = Arc::new(sanare_core::service::rules::RulesAgent);
    Healer::with(setup, Tools { store, clock, agent }).unwrap()
}

#[test]
fn a_stop_waits_for_whoever_has_read_the_switch_and_has_not_begun() {
    let plant = Plant::new(CONFIGURATION, AUTO);
    let other = another(&plant);
    plant.healer.start_again(None).unwrap();
    assert!(plant.healer.house().may_begin(&fraud()));
    // A worker between reading the switch and beginning its call.
    let worker = gate::open(&plant.healer.setup()).unwrap();
    worker.lock_shared().unwrap();
    let (told, answered) = mpsc::channel();
    let stopping = std::thread::spawn(move || told.send(other.stop(Some(&fraud())).map(|()| Instant::now())));
    assert!(answered.recv_timeout(Duration::from_millis(300)).is_err(), "a call can still begin");
    let begun = Instant::now();
    worker.unlock().unwrap();
    let answer = answered.recv_timeout(Duration::from_secs(5)).unwrap().unwrap();
    assert!(answer >= begun);
    stopping.join().unwrap().unwrap();
    assert!(!plant.healer.house().may_begin(&fraud()), "and now no call begins");
}

#[test]
fn a_worker_that_stands_still_there_is_told_within_its_time() {
    let plant = Plant::new(CONFIGURATION, AUTO);
    let worker = gate::open(&plant.healer.setup()).unwrap();
    worker.lock_shared().unwrap();
    let begin = Instant::now();
    let error = plant.healer.stop(None).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    assert!(begin.elapsed() < gate::WITHIN + Duration::from_secs(2), "{:?}", begin.elapsed());
    assert!(plant.healer.setup().is_stopped(None), "the switch is set all the same");
}

#[test]
fn a_stop_during_an_act_answers_at_once_and_the_act_is_followed_to_its_end() {
    let plant = Plant::new(CONFIGURATION, AUTO);
    let (entered, is_in) = mpsc::channel();
    let (leave, left) = mpsc::channel::<()>();
    let left = Mutex::new(left);
    let calls = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&calls);
    let function = move |_: &Intent| {
        *counted.lock().unwrap() += 1;
        entered.send(()).unwrap();
        left.lock().unwrap().recv_timeout(Duration::from_secs(30)).unwrap();
        End::Done
    };
    let starts = Arc::clone(&calls);
    let probe = Asking {
        ask: Box::new(move || Some(Identity::default().with(Mark::StartTime, starts.lock().unwrap().to_string()))),
    };
    let declared = Written { idempotent: Some(true), ..Written::default() };
    let capability = Capability { declared, probe: Some(Arc::new(probe)) };
    plant.service.capability(Action::RestartComponent, Arc::new(function), capability).unwrap();
    // It falls ill, and nothing was changed: it is started anew.
    *plant.served.lock().unwrap() = "2".to_owned();
    std::thread::scope(|scope| {
        let minutes = scope.spawn(|| plant.minutes(3));
        is_in.recv_timeout(Duration::from_secs(60)).unwrap();
        let other = another(&plant);
        let begin = Instant::now();
        other.stop(None).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
        leave.send(()).unwrap();
        minutes.join().unwrap();
    });
    plant.minutes(30);
    assert_eq!(*calls.lock().unwrap(), 1);
    let receipts = plant.healer.store().receipts_of(&plant.only_incident().id).unwrap();
    assert_eq!(receipts.iter().map(|one| one.state).collect::<Vec<_>>(), [ReceiptState::Done]);
}

#[test]
fn a_granted_approval_is_void_and_lifting_the_switch_begins_nothing() {
    let plant = Plant::new(CONFIGURATION, ASKS);
    goes_bad(&plant);
    let asked = plant.healer.pending_approvals().unwrap().remove(0);
    assert_eq!(plant.healer.approve(&asked.id, "yes", Some(&asked.digest)).unwrap(), ApprovalState::Granted);
    another(&plant).stop(Some(&fraud())).unwrap();
    plant.healer.start_again(Some(&fraud())).unwrap();
    plant.minutes(1);
    assert!(plant.calls.lock().unwrap().is_empty(), "the word was given before the stop");
    let stands = plant.healer.store().approval(&sanare_core::id::Id::from_text(asked.id)).unwrap().unwrap();
    assert_eq!(stands.state, ApprovalState::Voided);
    // A switch that was set by hand, with no store at hand, withdraws what was granted all the same.
    let again = plant.healer.pending_approvals().unwrap().remove(0);
    assert_eq!(plant.healer.approve(&again.id, "yes", None).unwrap(), ApprovalState::Granted);
    plant.healer.setup().stop(None).unwrap();
    plant.healer.run_once().unwrap();
    plant.healer.setup().start_again(None).unwrap();
    plant.minutes(1);
    assert!(plant.calls.lock().unwrap().is_empty());
}
