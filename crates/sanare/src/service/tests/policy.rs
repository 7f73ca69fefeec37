//! A policy that cannot be read: every application action is refused, and people are told once (S93).

use std::path::Path;

use sanare_core::incident::Mode;
use sanare_core::policy::Verdict;
use sanare_core::service::Action;
use sanare_core::service::policy::Case;

use super::courier::Receiver;
use super::reminders::restart;
use super::{AUTO, CONFIGURATION, Plant, fraud, goes_bad};

type Break = fn(&Path);

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

const BROKEN: [(&str, Break); 10] = [
    ("empty", |path| write(path, "")),
    ("half a file", |path| write(path, &AUTO[..AUTO.len() / 2 - 3])),
    ("unknown key", |path| write(path, &format!("{AUTO}permit = true\n"))),
    ("duplicate rule id", |path| {
        let rule =
            "[[rule]]\nid = \"one\"\nwhen = { action = [\"rollback_model\"] }\nverdict = \"ask\"\nreason = \"why\"\n";
        write(path, &format!("{AUTO}{rule}"));
        assert_eq!(crate::wire::policy::read(path).trouble(), None, "one of them is sound");
        write(path, &format!("{AUTO}{rule}{rule}"));
    }),
    ("gate at the fallback cap", |path| write(path, &format!("confidence_gate = 0.2\n{AUTO}"))),
    ("percent as 34", |path| write(path, &AUTO.replace("share = 1.0", "share = 34"))),
    ("a folder in its place", |path| {
        std::fs::remove_file(path).unwrap();
        std::fs::create_dir(path).unwrap();
    }),
    ("by rights", |path| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000)).unwrap();
    }),
    ("newer version", |path| write(path, &AUTO.replace("version = 1", "version = 2"))),
    ("missing", |path| std::fs::remove_file(path).unwrap()),
];

/// Messages about the policy that came.
fn told(receiver: &Receiver) -> Vec<serde_json::Value> {
    let seen = receiver.seen.lock().unwrap();
    let all = seen.iter().map(|(_, body)| body.clone());
    all.filter(|body| body["id"].as_str().unwrap().starts_with("policy/")).collect()
}

fn plant(receiver: &Receiver) -> Plant {
    // A route of another service and of what is worst is one of the people who are told.
    let route = receiver.route("ops", "severity = \"critical\"");
    Plant::new(&format!("{route}{CONFIGURATION}"), AUTO)
}

#[test]
fn whatever_is_wrong_with_it_every_action_is_refused_and_people_are_told_once() {
    for (what, breaks) in BROKEN {
        let receiver = Receiver::new(200);
        let mut plant = plant(&receiver);
        let path = plant.healer.setup().path("policy.toml");
        plant.minutes(1);
        assert!(told(&receiver).is_empty(), "{what}");
        breaks(&path);
        if what == "by rights" && std::fs::read(&path).is_ok() {
            // Whoever may read everything is not kept out by rights: a folder in its place stands for it.
            continue;
        }
        goes_bad(&plant);
        assert!(plant.calls.lock().unwrap().is_empty(), "{what}: the last good policy is not used in its place");
        assert!(plant.healer.pending_approvals().unwrap().is_empty(), "{what}");
        for action in Action::ALL.iter().copied().filter(|action| !action.is_framework()) {
            let case = Case { mode: Mode::Auto, application: fraud(), action, ..Case::default() };
            let (decision, _) = plant.healer.explain(&case);
            assert_eq!(decision.verdict, Verdict::Refuse, "{what} {action}");
            assert!(decision.fired.iter().any(|fired| fired.rule == "policy_unreadable"), "{what} {action}");
        }
        restart(&mut plant);
        plant.minutes(2);
        let told = told(&receiver);
        assert_eq!(told.len(), 1, "{what}: {told:?}");
        assert_eq!(
            (told[0]["kind"].as_str(), told[0]["body"]["severity"].as_str()),
            (Some("escalation"), Some("critical"))
        );
        assert!(told[0]["body"]["summary"].as_str().unwrap().contains("cannot be read"), "{what}: {told:?}");
    }
}

#[test]
fn it_is_told_again_only_after_it_was_good_in_between() {
    let receiver = Receiver::new(200);
    let mut plant = plant(&receiver);
    let path = plant.healer.setup().path("policy.toml");
    let mut after = |text: &str| {
        write(&path, text);
        restart(&mut plant);
        plant.minutes(1);
        told(&receiver).len()
    };
    assert_eq!(
        [after("version = 1\nmode = \"au"), after(""), after("unknown = 1\n")],
        [1, 1, 1],
        "one trouble after another"
    );
    assert_eq!([after(AUTO), after(""), after(AUTO)], [1, 2, 2]);
    assert!(
        plant.store.outbox(10).unwrap().is_empty() && plant.store.states("known/policy_trouble").unwrap().is_empty()
    );
}
