//! The stop switch between processes: whoever stops is answered when nobody can begin any more, and no later than that.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sanare_core::port::Store as _;
use sanare_core::service::declaration::Written;
use sanare_core::service::port::{House as _, Intent};
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::{Action, ApprovalState, ReceiptState};
use sanare_effects::service::callback::End;

use super::super::{Asking, Capability, Healer, NotStarted, Setup, Tools, gate};
use super::dying::Dying;
use super::{ASKS, AUTO, CONFIGURATION, Plant, fraud, goes_bad};
use crate::wire::person;

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
    plant.healer.start_again(None, "checked").unwrap();
    assert!(plant.healer.house().may_begin(&fraud()));
    // A worker between reading the switch and beginning its call.
    let worker = gate::open(&plant.healer.setup()).unwrap();
    worker.lock_shared().unwrap();
    let (told, answered) = mpsc::channel();
    let stopping = std::thread::spawn(move || told.send(other.stop(Some(&fraud()), "").map(|()| Instant::now())));
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
    let error = plant.healer.stop(None, "").unwrap_err();
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
    let probe =
        Asking::new(move || Some(Identity::default().with(Mark::StartTime, starts.lock().unwrap().to_string())));
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
        other.stop(None, "").unwrap();
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
    another(&plant).stop(Some(&fraud()), "too many acts").unwrap();
    plant.healer.start_again(Some(&fraud()), "checked").unwrap();
    plant.minutes(1);
    assert!(plant.calls.lock().unwrap().is_empty(), "the word was given before the stop");
    let stands = plant.healer.store().approval(&sanare_core::id::Id::from_text(asked.id)).unwrap().unwrap();
    assert_eq!(stands.state, ApprovalState::Voided);
    let records = plant.records.ledger_after(0, 10_000).unwrap();
    let voided = records.iter().find(|record| record.step == "voided").expect("that it is void is on record");
    assert!(voided.payload.contains(r#""was":"granted","why":"stopped""#), "{}", voided.payload);
    // A switch that was set by hand, with no store at hand, withdraws what was granted all the same.
    let again = plant.healer.pending_approvals().unwrap().remove(0);
    assert_eq!(plant.healer.approve(&again.id, "yes", None).unwrap(), ApprovalState::Granted);
    plant.healer.setup().stop(None, "").unwrap();
    plant.healer.run_once().unwrap();
    plant.healer.start_again(None, "checked").unwrap();
    plant.minutes(1);
    assert!(plant.calls.lock().unwrap().is_empty());
}

/// What the ledger says of switches: step, application, who, why.
fn told(plant: &Plant, step: &str) -> Vec<String> {
    let me = person::current().name;
    let records = plant.records.ledger_after(0, 10_000).unwrap();
    let of_switches = records.iter().filter(|record| record.incident.as_str().starts_with("stp_"));
    of_switches.filter(|record| record.step == step).map(|record| record.payload.replace(&me, "ME")).collect()
}

#[test]
fn lifting_needs_a_reason_and_somebody_who_may_and_both_are_in_the_ledger() {
    let plant = Plant::new(CONFIGURATION, ASKS);
    plant.healer.stop(Some(&fraud()), "it restarts without end").unwrap();
    assert_eq!(told(&plant, "stopped"), [r#"{"application":"fraud","by":"ME","reason":"it restarts without end"}"#]);
    for blank in ["", "  ", "\u{200b}"] {
        assert!(matches!(plant.healer.start_again(Some(&fraud()), blank), Err(NotStarted::NoReason)), "{blank:?}");
    }
    // Who is not among the approvers, and nobody while nobody can tell who that is.
    let policy = plant.healer.setup().path("policy.toml");
    let written = std::fs::read_to_string(&policy).unwrap();
    for other in [written.replace(&person::current().name, "somebody-else"), "version = ".to_owned()] {
        std::fs::write(&policy, other).unwrap();
        assert!(matches!(plant.healer.start_again(Some(&fraud()), "checked"), Err(NotStarted::NotAllowed(..))));
    }
    assert!(plant.healer.setup().is_stopped(Some(&fraud())) && told(&plant, "started").is_empty());
    std::fs::write(&policy, written).unwrap();
    plant.healer.start_again(Some(&fraud()), "the loop was found").unwrap();
    assert!(!plant.healer.setup().is_stopped(Some(&fraud())));
    assert_eq!(told(&plant, "started"), [r#"{"application":"fraud","by":"ME","reason":"the loop was found"}"#]);
    // One pass more, and a lifting of what is not set, tell nothing twice.
    plant.healer.start_again(Some(&fraud()), "again").unwrap();
    plant.minutes(1);
    assert_eq!((told(&plant, "stopped").len(), told(&plant, "started").len()), (1, 1));
}

#[test]
fn a_file_that_somebody_makes_or_takes_away_is_a_stop_and_a_start_on_record() {
    let plant = Plant::new(CONFIGURATION, ASKS);
    let file = plant.healer.setup().store().with_file_name("STOP");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, b"").unwrap();
    plant.minutes(1);
    another(&plant).run_once().unwrap();
    assert_eq!(told(&plant, "stopped"), [r#"{"application":null,"by":null,"reason":null}"#]);
    std::fs::remove_file(&file).unwrap();
    plant.minutes(1);
    assert_eq!(told(&plant, "started"), [r#"{"application":null,"by":null,"reason":"its file is gone"}"#]);
}

#[test]
fn a_lifting_that_cannot_be_written_down_leaves_the_switch() {
    let plant = Plant::new(CONFIGURATION, ASKS);
    plant.healer.stop(None, "").unwrap();
    let (store, clock) = (Arc::new(Dying::new(Arc::clone(&plant.store), 1, false)), plant.clock.clone());
    let agent = Arc::new(sanare_core::service::rules::RulesAgent);
    let setup = Setup::read(&plant.healer.setup().file).unwrap();
    let other = Healer::with(setup, Tools { store, clock, agent }).unwrap();
    assert!(matches!(other.start_again(None, "checked"), Err(NotStarted::Store(_))));
    assert!(plant.healer.setup().is_stopped(None));
}
