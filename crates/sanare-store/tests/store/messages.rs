//! Messages to people: queued once, noted on each route, told until somebody has taken them.

use sanare_core::id::Id;
use sanare_core::redact::Redactor;
use sanare_core::service::run::MessageKind;
use sanare_core::service::{Change, Delivery, DeliveryState, Message, Text};
use serde_json::json;

use super::services::{at, change, check};

fn message(key: &str) -> Message {
    Message {
        key: key.to_owned(),
        kind: MessageKind::Escalation,
        incident: Id::from_text("inc_a"),
        body: Redactor::standard().json(&json!({ "why": key })),
        at: at(1),
    }
}

fn delivery(route: &str, state: DeliveryState, tries: u32) -> Delivery {
    let why = Some(Text::of("no connection"));
    Delivery { route: route.to_owned(), state, tries, due: at(9), at: at(2), why }
}

#[test]
fn a_message_is_queued_once_and_taken_out_once_delivered() {
    check(
        |store| {
            store
                .commit(&Change { messages: vec![message("one"), message("two"), message("one")], ..change() })
                .unwrap();
            store.commit(&Change { messages: vec![message("two"), message("three")], ..change() }).unwrap();
            store.delivered("two").unwrap();
            store.delivered("none").unwrap();
            // What was delivered is not queued anew.
            store.commit(&Change { messages: vec![message("two")], ..change() }).unwrap();
        },
        |store| {
            let keys: Vec<String> = store.outbox(10).unwrap().into_iter().map(|message| message.key).collect();
            assert_eq!(keys, ["one", "three"]);
            assert_eq!(store.outbox(1).unwrap().len(), 1);
        },
    );
}

#[test]
fn a_message_that_no_route_has_taken_is_told_until_one_has() {
    check(
        |store| {
            let messages = ["down", "dead", "told", "fresh"].map(message).to_vec();
            store.commit(&Change { messages, ..change() }).unwrap();
            for tries in 1..4 {
                store.note_delivery("down", &delivery("pager", DeliveryState::Waiting, tries)).unwrap();
            }
            store.note_delivery("dead", &delivery("pager", DeliveryState::Failed, 10)).unwrap();
            store.delivered("dead").unwrap();
            store.note_delivery("told", &delivery("pager", DeliveryState::Failed, 10)).unwrap();
            store.note_delivery("told", &delivery("mail", DeliveryState::Delivered, 1)).unwrap();
        },
        |store| {
            let told = |found: Vec<(Message, Vec<Delivery>)>| -> Vec<String> {
                let line = |of: &Delivery| format!("{} {} {}", of.route, of.state, of.tries);
                let all = found.iter();
                all.map(|(message, of)| {
                    let lines: Vec<String> = of.iter().map(line).collect();
                    format!("{}: {}", message.key, lines.join(", "))
                })
                .collect()
            };
            assert_eq!(told(store.undelivered(10).unwrap()), ["dead: pager failed 10", "down: pager waiting 3"]);
            assert_eq!(told(store.undelivered(1).unwrap()), ["dead: pager failed 10"]);
            let of = store.deliveries("told").unwrap();
            assert_eq!(of.iter().map(|one| one.route.as_str()).collect::<Vec<_>>(), ["mail", "pager"]);
            assert_eq!(of[1], delivery("pager", DeliveryState::Failed, 10));
            assert_eq!(store.deliveries("fresh").unwrap(), []);
        },
    );
}
