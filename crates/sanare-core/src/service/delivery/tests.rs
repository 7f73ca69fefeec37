//! Plans of messages, minute by minute.

use serde_json::json;

use super::{Delivery, DeliveryState, plan};
use crate::id::Id;
use crate::redact::Redactor;
use crate::service::config::Configuration;
use crate::service::moment::{HOUR, MINUTE, Moment, SECOND};
use crate::service::run::{Message, MessageKind};
use crate::settings::SettingsFile;

fn routes(count: usize) -> Vec<crate::service::config::RouteSettings> {
    let text: String = ["a", "b", "c"]
        .iter()
        .take(count)
        .map(|name| format!("[[notify]]\nname = \"{name}\"\nargv = [\"/bin/tell\"]\n"))
        .collect();
    let file = SettingsFile { path: "sanare.toml".to_owned(), text, in_pyproject: false };
    Configuration::read(&file).expect("a configuration").routes
}

fn at(seconds: u64) -> Moment {
    Moment::from_micros(HOUR + seconds * SECOND)
}

/// Plays a message of a kind over routes that answer as `takes` says, second by second for `hours`; when which route was
/// tried, and when it was over.
fn play(
    kind: MessageKind,
    count: usize,
    hours: u64,
    noticed_at: Option<u64>,
    answers: impl Fn(&str, u64) -> bool,
) -> String {
    let routes = routes(count);
    let message = Message {
        key: "escalation/inc_a/1/0".to_owned(),
        kind,
        incident: Id::from_text("inc_a"),
        body: Redactor::standard().json(&json!({})),
        at: at(0),
    };
    let (mut deliveries, mut out) = (Vec::<Delivery>::new(), Vec::new());
    for second in (0..hours * 3_600).step_by(30) {
        let noticed = noticed_at.is_some_and(|from| second >= from);
        let plan = plan(&message, &routes, |_| true, &deliveries, noticed, at(second));
        for place in &plan.send {
            let name = routes[*place].name.clone();
            let before = deliveries.iter().position(|one| one.route == name);
            let begun = Delivery::begun(before.map(|place| &deliveries[place]), &name, at(second));
            let came = if answers(&name, second) { Ok(()) } else { Err("no connection") };
            let ended = begun.ended(came, at(second));
            out.push(format!("{name}{}", second / 60));
            match before {
                Some(place) => deliveries[place] = ended,
                None => deliveries.push(ended),
            }
        }
        if plan.over {
            let states: Vec<&str> = deliveries.iter().map(|one| one.state.word()).collect();
            out.push(format!("over{} {}", second / 60, states.join(" ")));
            break;
        }
    }
    out.join(" ")
}

#[test]
fn a_message_goes_by_the_first_route_and_is_over() {
    assert_eq!(play(MessageKind::ApprovalAsked, 3, 2, None, |_, _| true), "a0 over0 delivered");
    assert_eq!(play(MessageKind::Refused, 0, 2, None, |_, _| true), "over0 ", "nobody is to be told");
}

#[test]
fn a_receiver_that_is_down_for_an_hour_is_told_when_it_is_back() {
    let told = play(MessageKind::RolledBack, 2, 30, None, |_, second| second > 3_600);
    assert_eq!(told, "a0 a0 a1 a3 a8 a23 a68 over69 delivered");
}

#[test]
fn ten_tries_in_a_day_then_the_next_route() {
    let told = play(MessageKind::Healed, 2, 60, None, |name, _| name == "b");
    assert_eq!(told, "a0 a0 a1 a3 a8 a23 a68 a188 a548 a1388 b1389 over1389 failed delivered");
    let told = play(MessageKind::Healed, 1, 60, None, |_, _| false);
    assert_eq!(told.matches('a').count(), 10 + 1, "ten tries, and the word failed: {told}");
    assert!(told.ends_with("over1389 failed") || told.ends_with("over1388 failed"), "{told}");
}

#[test]
fn a_hand_over_that_nobody_notices_goes_further() {
    let told = play(MessageKind::Escalation, 3, 5, None, |_, _| true);
    assert_eq!(told, "a0 b30 c60 over60 delivered delivered delivered");
    let told = play(MessageKind::Escalation, 3, 5, Some(45 * 60), |_, _| true);
    assert_eq!(told, "a0 b30 over45 delivered delivered");
    // A route that is down does not keep the next one waiting for a day.
    let told = play(MessageKind::Escalation, 2, 2, None, |name, _| name == "b");
    assert!(told.contains("b30"), "{told}");
}

#[test]
fn whoever_dies_in_a_try_has_used_it_up() {
    let mut delivery: Option<Delivery> = None;
    let routes = routes(1);
    let message = Message {
        key: "healed/inc_a/1".to_owned(),
        kind: MessageKind::Healed,
        incident: Id::from_text("inc_a"),
        body: Redactor::standard().json(&json!({})),
        at: at(0),
    };
    let (mut sent, mut second) = (0, 0);
    loop {
        let known: Vec<Delivery> = delivery.iter().cloned().collect();
        let plan = plan(&message, &routes, |_| true, &known, false, at(second));
        if plan.over {
            break;
        }
        if !plan.send.is_empty() {
            delivery = Some(Delivery::begun(delivery.as_ref(), "a", at(second)));
            sent += 1;
        }
        second += MINUTE / SECOND;
    }
    assert_eq!(sent, Delivery::most());
    assert_eq!(delivery.map(|one| one.state), Some(DeliveryState::Waiting));
}
