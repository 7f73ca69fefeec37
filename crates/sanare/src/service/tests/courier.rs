//! People are told: by a real receiver on this machine that is down, slow, dead for ever, and by a store that dies in between.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use sanare_core::id::Id;
use sanare_core::port::Clock;
use sanare_core::redact::Redactor;
use sanare_core::service::run::{Change, Message, MessageKind};
use sanare_core::service::{Moment, Signal, StepName};
use serde_json::{Value as Json, json};

use super::{ASKS, AUTO, CONFIGURATION, Plant, fraud, goes_bad};

/// Somebody who is told: answers a status and keeps what came, as lines of the head and the body.
pub(super) struct Receiver {
    address: String,
    pub status: Arc<AtomicU16>,
    pub seen: Arc<Mutex<Vec<(Vec<String>, Json)>>>,
}

impl Receiver {
    pub fn new(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (status, seen) = (Arc::new(AtomicU16::new(status)), Arc::new(Mutex::new(Vec::new())));
        let (answers, kept) = (Arc::clone(&status), Arc::clone(&seen));
        std::thread::spawn(move || {
            for mut socket in listener.incoming().flatten() {
                let mut reader = BufReader::new(socket.try_clone().unwrap());
                let mut head = Vec::new();
                for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
                    head.push(line.to_ascii_lowercase());
                }
                let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
                let mut body = vec![0; length.unwrap_or(0)];
                reader.read_exact(&mut body).unwrap();
                let status = answers.load(Ordering::SeqCst);
                kept.lock().unwrap().push((head, serde_json::from_slice(&body).unwrap()));
                let _ = socket.write_all(format!("HTTP/1.1 {status} Word\r\ncontent-length: 0\r\n\r\n").as_bytes());
            }
        });
        Self { address, status, seen }
    }

    pub fn route(&self, name: &str, more: &str) -> String {
        format!("[[notify]]\nname = \"{name}\"\nurl = \"{}/hook\"\n{more}\n", self.address)
    }

    /// Kinds and ids that came.
    fn told(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter().map(|(_, body)| body["id"].as_str().unwrap().to_owned()).collect()
    }

    fn kinds(&self) -> Vec<String> {
        let kind = |id: &String| id.split('/').next().unwrap_or_default().to_owned();
        self.told().iter().map(kind).collect()
    }
}

/// A clock by which a courier dies as soon as something was sent.
struct Mortal<'a> {
    clock: &'a (dyn Clock + Send + Sync),
    receiver: &'a Receiver,
    born: usize,
}

impl Clock for Mortal<'_> {
    fn now(&self) -> u64 {
        assert_eq!(self.receiver.told().len(), self.born, "it dies");
        self.clock.now()
    }

    fn elapsed(&self) -> u64 {
        self.clock.elapsed()
    }

    fn chance(&self) -> u128 {
        self.clock.chance()
    }
}

/// A service that falls ill with nothing to do about it is handed over; nobody answers, and it is told.
fn handed_over(plant: &Plant) -> Id {
    plant.deploy("2");
    plant.minutes(3);
    let incident = plant.only_incident();
    assert_eq!(incident.step, StepName::Closed);
    incident.id
}

#[test]
fn a_hand_over_and_a_question_go_out_signed_and_without_a_secret() {
    let receiver = Receiver::new(200);
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("hook.key");
    std::fs::write(&key, "pL7wQ2zX9vK4mT8r").unwrap();
    let file = key.display();
    let more = format!(
        "sign = {{ file = \"{file}\" }}\nheaders = {{ Authorization = {{ file = \"{file}\", before = \"Bearer \" }} }}"
    );
    let plant = Plant::new(&format!("{}{CONFIGURATION}", receiver.route("ops", &more)), ASKS);
    // What a service says of itself is told, but never a secret in it.
    plant.service.report(
        &Signal::parse("note").unwrap(),
        sanare_core::service::ObservedValue::Health {
            status: sanare_core::service::Health::Fail,
            detail: Some(sanare_core::service::Text::of("password=hunter2trombone")),
        },
        super::super::More::default(),
    );
    goes_bad(&plant);
    assert_eq!(receiver.kinds(), ["approval_asked"]);
    plant.minutes(40);
    assert_eq!(receiver.kinds(), ["approval_asked", "escalation"], "nobody has answered: it is handed over");
    let seen = receiver.seen.lock().unwrap();
    for (head, body) in seen.iter() {
        let has = |prefix: &str| head.iter().any(|line| line.starts_with(prefix));
        assert!(
            has("x-sanare-signature: sha256=") && has("authorization: bearer pl7w") && has("x-sanare-timestamp: 17")
        );
        assert!(head.contains(&format!("idempotency-key: {}", body["id"].as_str().unwrap()).to_ascii_lowercase()));
        let text = body.to_string();
        assert!(!text.contains("pL7wQ2zX9vK4mT8r") && !text.contains("hunter2trombone"), "{text}");
    }
    let (asked, escalated) = (&seen[0].1["body"], &seen[1].1["body"]);
    assert_eq!((&asked["action"], &asked["params"]["rollback"]["to_version"]), (&json!("rollback_model"), &json!("1")));
    assert!(escalated["next"].as_array().unwrap().iter().any(|one| one.as_str().unwrap().contains("incident retry")));
}

#[test]
fn a_receiver_that_is_down_is_told_each_message_once_and_in_order_when_it_is_back() {
    let receiver = Receiver::new(503);
    let plant = Plant::new(&format!("{}{CONFIGURATION}", receiver.route("ops", "")), ASKS);
    goes_bad(&plant);
    plant.minutes(50);
    let shown: Vec<String> = plant.healer.undelivered().unwrap().iter().map(ToString::to_string).collect();
    assert!(shown.iter().any(|one| one.contains("is not told yet: ops (6 of 10, answered 503)")), "{shown:?}");
    let tried = receiver.told();
    assert!(
        tried.len() >= 6 && tried.iter().all(|id| *id == tried[0]),
        "the question comes before what follows it: {tried:?}"
    );
    receiver.status.store(204, Ordering::SeqCst);
    plant.minutes(60);
    let since: Vec<String> = receiver.told().split_off(tried.len());
    let kinds: Vec<&str> = since.iter().filter_map(|id| id.split('/').next()).collect();
    assert_eq!(kinds, ["approval_asked", "escalation", "escalation"], "each once, and in order");
    assert_eq!(since[2], format!("{}/reminder/1", since[1]), "and half an hour later nobody had taken it");
    assert!(plant.healer.undelivered().unwrap().is_empty());
    assert!(plant.healer.store().outbox(10).unwrap().is_empty());
}

#[test]
fn what_nobody_takes_is_given_up_after_a_day_and_stays_to_be_seen() {
    let receiver = Receiver::new(500);
    let plant = Plant::new(&format!("{}{CONFIGURATION}", receiver.route("ops", "")), AUTO);
    let incident = handed_over(&plant);
    for _ in 0..24 * 60 {
        plant.clock.0.fetch_add(60_000, Ordering::SeqCst);
        plant.healer.tell_once().unwrap();
    }
    assert_eq!(receiver.told().len(), 10, "ten tries in a day");
    let given_up = plant.healer.undelivered().unwrap();
    assert_eq!(given_up.len(), 1);
    assert!(given_up[0].given_up && given_up[0].incident == incident.to_string());
    assert!(plant.healer.store().outbox(10).unwrap().is_empty());
    assert!(plant.steps().ends_with("not_delivered"), "{}", plant.steps());
    let stands = plant.healer.incidents(1).unwrap().remove(0);
    assert_eq!(stands.status().word(), "handed_over", "what was to be told is not lost");
}

#[test]
fn the_next_route_is_told_when_nobody_takes_notice() {
    let (first, second) = (Receiver::new(200), Receiver::new(200));
    let routes = format!(
        "{}{}",
        first.route("day", "kinds = [\"escalation\"]\nseverity = \"medium\""),
        second.route("night", "applications = [\"fraud\"]")
    );
    let plant = Plant::new(&format!("{routes}{CONFIGURATION}"), AUTO);
    let incident = handed_over(&plant);
    assert_eq!((first.kinds().len(), second.kinds().len()), (1, 0));
    plant.minutes(20);
    assert_eq!(second.kinds().len(), 0);
    plant.minutes(11);
    let reminded = format!("{}/reminder/1", second.told()[0]);
    assert_eq!(first.told(), [second.told().remove(0), reminded], "the same message under the same id, and a reminder");
    assert_eq!(second.told().len(), 1);
    // Who holds it has taken notice.
    let plant = Plant::new(&format!("{routes}{CONFIGURATION}"), AUTO);
    let held = handed_over(&plant);
    assert_ne!(incident, held);
    plant.healer.hold(held.as_str(), true).unwrap();
    plant.minutes(40);
    assert_eq!((first.kinds().len(), second.kinds().len()), (3, 1));
    assert!(plant.healer.store().outbox(10).unwrap().is_empty(), "there is nothing left to do");
}

#[test]
fn a_courier_that_dies_after_sending_sends_again_under_the_same_id_and_never_more_than_ten_times() {
    let receiver = Receiver::new(200);
    let plant = Plant::new(&format!("{}{CONFIGURATION}", receiver.route("ops", "")), AUTO);
    let hands = plant.healer.house().hands;
    let message = Message {
        key: "escalation/inc_x/1/0".to_owned(),
        kind: MessageKind::Escalation,
        incident: handed_over(&plant),
        body: Redactor::standard().json(&json!({ "why": "it is down" })),
        at: Moment::from_millis(plant.healer.clock().now()),
    };
    let before = receiver.told().len();
    plant.healer.store().commit(&Change { messages: vec![message], ..Change::default() }).unwrap();
    // It dies each time between sending and writing down that it was taken: other couriers find what it left.
    std::panic::set_hook(Box::new(|_| {}));
    for minute in 0..25 * 60_usize {
        plant.clock.0.fetch_add(60_000, Ordering::SeqCst);
        let mortal = Mortal { clock: &**plant.healer.clock(), receiver: &receiver, born: receiver.told().len() };
        let owner = format!("courier {minute}");
        let round = || super::super::courier::round(plant.healer.store(), &mortal, &hands.routes, &owner, false);
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(round));
    }
    let told = receiver.told().split_off(before);
    let (told, others): (Vec<_>, Vec<_>) = told.into_iter().partition(|id| id == "escalation/inc_x/1/0");
    assert_eq!(told.len(), 10, "at least once, and not for ever");
    assert!(others.iter().all(|id| id.contains("/reminder/")), "{others:?}");
}

#[test]
fn two_couriers_at_once_tell_it_once() {
    let receiver = Receiver::new(200);
    let plant = Plant::new(&format!("{}{CONFIGURATION}", receiver.route("ops", "")), AUTO);
    let hands = plant.healer.house().hands;
    let incident = handed_over(&plant);
    let before = receiver.told().len();
    let messages = (0..20).map(|number| Message {
        key: format!("refused/inc_x/{number}"),
        kind: MessageKind::Refused,
        incident: incident.clone(),
        body: Redactor::standard().json(&json!({})),
        at: Moment::from_millis(plant.healer.clock().now()),
    });
    plant.healer.store().commit(&Change { messages: messages.collect(), ..Change::default() }).unwrap();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (store, clock, routes) = (plant.healer.store(), plant.healer.clock(), &hands.routes);
            scope.spawn(move || {
                for _ in 0..30 {
                    super::super::courier::round(store, &**clock, routes, &format!("courier {number}"), false).unwrap();
                }
            });
        }
    });
    let mut told = receiver.told().split_off(before);
    assert_eq!(told.len(), 20);
    let sent = told.clone();
    told.sort_by_key(|id| id.rsplit('/').next().and_then(|number| number.parse::<u32>().ok()));
    assert_eq!(told, sent, "in order");
}

#[test]
fn without_a_route_messages_wait_and_old_news_is_not_sent_by_one_that_comes_later() {
    let receiver = Receiver::new(200);
    let plant = Plant::new(CONFIGURATION, AUTO);
    let incident = handed_over(&plant);
    assert_eq!(plant.healer.store().outbox(10).unwrap().len(), 1);
    assert!(plant.healer.undelivered().unwrap().is_empty(), "nothing was tried");
    let with_route = Plant::new(&format!("{}{CONFIGURATION}", receiver.route("ops", "")), AUTO);
    let hands = with_route.healer.house().hands;
    let old = Message {
        key: "healed/inc_over/1".to_owned(),
        kind: MessageKind::Healed,
        incident: Id::from_text("inc_over"),
        body: Redactor::standard().json(&json!({})),
        at: Moment::from_millis(plant.healer.clock().now()),
    };
    plant.healer.store().commit(&Change { messages: vec![old], ..Change::default() }).unwrap();
    plant.clock.0.fetch_add(2 * 24 * 3_600_000, Ordering::SeqCst);
    for _ in 0..2 {
        super::super::courier::round(plant.healer.store(), &**plant.healer.clock(), &hands.routes, "late", false)
            .unwrap();
    }
    assert_eq!(receiver.kinds(), ["escalation"], "what still stands is told, however late");
    assert!(receiver.told()[0].contains(incident.as_str()));
    assert!(plant.healer.store().outbox(10).unwrap().is_empty());
    assert_eq!(plant.healer.incidents(1).unwrap()[0].application, fraud());
}
