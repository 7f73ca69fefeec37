//! What waits for a person is told again every half hour, three times, and then no more (S54).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sanare_core::service::StepName;
use sanare_core::service::rules::RulesAgent;
use sanare_store::Sqlite;

use super::super::{Healer, Setup, Tools};
use super::courier::Receiver;
use super::{ASKS, AUTO, CONFIGURATION, Plant, goes_bad};

/// Kinds that came, with the number of the reminder.
fn told(receiver: &Receiver) -> Vec<String> {
    let seen = receiver.seen.lock().unwrap();
    let kind = |body: &serde_json::Value| body["kind"].as_str().unwrap().to_owned();
    let number = |body: &serde_json::Value| body["body"]["reminder"].as_u64().map(|number| format!(" {number}"));
    seen.iter().map(|(_, body)| format!("{}{}", kind(body), number(body).unwrap_or_default())).collect()
}

fn plant(receiver: &Receiver, policy: &str) -> Plant {
    Plant::new(&format!("{}{CONFIGURATION}", receiver.route("ops", "")), policy)
}

/// The healer's process is another one from now on.
pub(super) fn restart(plant: &mut Plant) {
    let setup = Setup::read(&plant.healer.setup().file).unwrap();
    let tools = Tools { store: Arc::clone(&plant.store), clock: plant.clock.clone(), agent: Arc::new(RulesAgent) };
    plant.healer = Healer::with(setup, tools).unwrap();
    plant.service = plant.healer.service(super::fraud(), super::super::Options::default());
}

fn handed_over(plant: &Plant) {
    plant.deploy("2");
    plant.minutes(3);
    assert_eq!(plant.only_incident().step, StepName::Closed);
}

#[test]
fn a_hand_over_that_nobody_takes_is_told_three_times_more_whatever_restarts() {
    let receiver = Receiver::new(200);
    let mut plant = plant(&receiver, AUTO);
    handed_over(&plant);
    assert_eq!(told(&receiver), ["escalation"]);
    plant.minutes(26);
    assert_eq!(told(&receiver).len(), 1, "not before half an hour");
    plant.minutes(5);
    assert_eq!(told(&receiver), ["escalation", "escalation 1"]);
    restart(&mut plant);
    plant.minutes(23);
    assert_eq!(told(&receiver).len(), 2, "a restart hurries nobody");
    plant.minutes(7);
    assert_eq!(told(&receiver).len(), 3);
    restart(&mut plant);
    plant.minutes(24 * 60);
    assert_eq!(told(&receiver), ["escalation", "escalation 1", "escalation 2", "escalation 3"], "then silence");
    assert!(plant.store.states("told/").unwrap().is_empty() && plant.store.outbox(10).unwrap().is_empty());
    let seen = receiver.seen.lock().unwrap();
    let (first, reminder) = (&seen[0].1, &seen[1].1);
    assert_eq!(reminder["body"]["of"], first["id"]);
    assert_eq!(reminder["incident"], first["incident"]);
}

#[test]
fn who_has_taken_it_is_not_reminded() {
    for taken in ["acknowledged", "held", "closed", "well again"] {
        let receiver = Receiver::new(200);
        let plant = plant(&receiver, AUTO);
        handed_over(&plant);
        plant.minutes(31);
        assert_eq!(told(&receiver), ["escalation", "escalation 1"]);
        let id = plant.only_incident().id;
        match taken {
            "acknowledged" => drop(plant.healer.acknowledge(id.as_str()).unwrap()),
            "held" => drop(plant.healer.hold(id.as_str(), true).unwrap()),
            "closed" => drop(plant.healer.close_incident(id.as_str(), "we know it", false).unwrap()),
            _ => plant.deploy("1"),
        }
        plant.minutes(180);
        let all = told(&receiver);
        let expected: &[&str] = if taken == "well again" {
            &["escalation", "escalation 1", "healed"]
        } else {
            &["escalation", "escalation 1"]
        };
        assert_eq!(all, expected, "{taken}");
        assert!(plant.store.states("told/").unwrap().is_empty(), "{taken}");
    }
}

#[test]
fn a_question_is_told_again_until_it_is_answered_or_over() {
    let long = ASKS.replace("approvers", "expire = \"24h\", approvers");
    let receiver = Receiver::new(200);
    let plant = plant(&receiver, &long);
    goes_bad(&plant);
    plant.minutes(32);
    assert_eq!(told(&receiver), ["approval_asked", "approval_asked 1"]);
    let asked = plant.healer.pending_approvals().unwrap().remove(0);
    assert_eq!(receiver.seen.lock().unwrap()[1].1["body"]["approval"], asked.id.as_str());
    plant.healer.deny(&asked.id, "not today", None).unwrap();
    plant.minutes(120);
    let all = told(&receiver);
    assert!(!all[2..].iter().any(|one| one.starts_with("approval_asked")), "{all:?}");
}

#[test]
fn a_receiver_that_is_down_gets_no_heap_of_reminders_when_it_is_back() {
    let receiver = Receiver::new(503);
    let plant = plant(&receiver, AUTO);
    handed_over(&plant);
    plant.minutes(150);
    let tried = told(&receiver).len();
    receiver.status.store(200, Ordering::SeqCst);
    plant.minutes(61);
    assert_eq!(told(&receiver)[tried..], ["escalation"], "nobody is reminded of what nobody was told");
    // Half an hour after it was told at last, and no sooner; down again, and back when a person has taken it.
    receiver.status.store(503, Ordering::SeqCst);
    plant.minutes(10);
    let tried = told(&receiver);
    assert!(tried.last().unwrap().ends_with(" 1"), "{tried:?}");
    plant.healer.acknowledge(plant.only_incident().id.as_str()).unwrap();
    receiver.status.store(200, Ordering::SeqCst);
    plant.minutes(60);
    assert_eq!(told(&receiver).len(), tried.len(), "a reminder that comes too late is dropped");
    assert!(plant.store.outbox(10).unwrap().is_empty());
}

#[test]
fn while_it_is_silenced_nobody_is_reminded() {
    let receiver = Receiver::new(200);
    let plant = plant(&receiver, AUTO);
    handed_over(&plant);
    let asked = super::super::Hushed {
        all: true,
        reason: "new disks".to_owned(),
        length: Some(120 * 60_000_000),
        ..super::super::Hushed::default()
    };
    plant.healer.silence(asked).unwrap();
    plant.minutes(100);
    assert_eq!(told(&receiver), ["escalation"]);
}

#[test]
fn reminders_of_a_store_on_disk() {
    let receiver = Receiver::new(200);
    let mut plant = plant(&receiver, AUTO);
    let path = plant.healer.setup().file.with_file_name("on_disk.db");
    plant.store = Arc::new(Sqlite::open(&path).unwrap());
    restart(&mut plant);
    handed_over(&plant);
    for _ in 0..4 {
        plant.store = Arc::new(Sqlite::open(&path).unwrap());
        restart(&mut plant);
        plant.minutes(40);
    }
    assert_eq!(told(&receiver), ["escalation", "escalation 1", "escalation 2", "escalation 3"]);
}

#[test]
fn in_a_storm_nobody_is_reminded_of_what_it_consists_of() {
    let receiver = Receiver::new(200);
    let plant = plant(&receiver, AUTO);
    handed_over(&plant);
    let hands = plant.healer.house().hands;
    let round = |stormy: bool| {
        let (store, clock) = (plant.healer.store(), plant.healer.clock());
        super::super::courier::round(store, &**clock, &hands.routes, "courier", stormy).unwrap();
        told(&receiver)
    };
    plant.minutes(1);
    plant.clock.0.fetch_add(31 * 60_000, Ordering::SeqCst);
    assert_eq!((round(true), round(true)), (vec!["escalation".to_owned()], vec!["escalation".to_owned()]));
    assert_eq!((round(false).len(), round(false).len()), (2, 2));
}
