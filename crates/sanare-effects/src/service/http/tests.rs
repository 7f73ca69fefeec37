//! What each answer is worth, against a scripted server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sanare_core::model::setup::KeyPlace;
use sanare_core::service::Action;
use sanare_core::service::declaration::Written;
use sanare_core::service::port::{Adapter as _, Availability};
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::word::Effect;

use super::{Http, Poll, Settings};
use crate::service::twin::{ProbeTwin, Say, Twin, declared, intent, nobody, ok, receipt};
use crate::service::{Endpoint, Secret};

fn adapter(settings: Settings) -> Http {
    Http::new(settings, declared(Action::ReloadModel, Written::default()), None).expect("an adapter")
}

fn act(settings: Settings) -> Effect {
    let receipt = receipt(Action::ReloadModel, Identity::default(), Identity::default());
    adapter(settings).act(&intent(&receipt)).effect
}

fn check(say: Say) -> Effect {
    let twin = Twin::new(move |_| say.clone());
    let effect = act(Settings::post(twin.at("/reload")));
    assert_eq!(twin.seen().len(), 1, "asked once, whatever it says");
    effect
}

#[test]
fn what_each_answer_is_worth() {
    assert_eq!(check(ok("")), Effect::Done);
    assert_eq!(check(Say::Status(204, String::new())), Effect::Done);
    for code in [409, 412, 404, 401] {
        assert_eq!(check(Say::Status(code, String::new())), Effect::Refused, "{code}");
    }
    for code in [500, 503, 400, 202] {
        assert_eq!(check(Say::Status(code, String::new())), Effect::Unknown, "{code}");
    }
    assert_eq!(check(Say::Reset), Effect::Unknown);
    assert_eq!(check(Say::Raw(b"no http".to_vec())), Effect::Unknown);
    assert_eq!(check(Say::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_vec())), Effect::Unknown);
    assert_eq!(check(Say::With(301, "location: http://127.0.0.1:1/", String::new())), Effect::Unknown);
    assert_eq!(act(Settings::post(nobody())), Effect::NotStarted);
}

#[test]
fn silence_and_endless_answers_are_bounded() {
    let begun = Instant::now();
    assert_eq!(check(Say::Hang), Effect::Unknown);
    assert!(begun.elapsed() < Duration::from_secs(5));
    let begun = Instant::now();
    assert_eq!(check(Say::Endless), Effect::Done, "the answer was yes; the rest of it is not waited for");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn an_owner_may_declare_failures_clean() {
    let twin = Twin::new(|_| Say::Status(500, String::new()));
    assert_eq!(act(Settings { clean_failures: true, ..Settings::post(twin.at("/")) }), Effect::Refused);
}

#[test]
fn a_request_is_the_configured_one_with_key_and_secret() {
    let twin = Twin::new(|_| ok("{}"));
    let file = std::env::temp_dir().join(format!("sanare-http-key-{}", std::process::id()));
    let bytes = b"s3cr3t-t0ken\n";
    std::fs::File::create(&file).and_then(|mut file| std::io::Write::write_all(&mut file, bytes)).expect("a file");
    let place = KeyPlace::File(file.to_string_lossy().into_owned());
    let secret = Secret { header: "Authorization".to_owned(), before: "Bearer ".to_owned(), place };
    let endpoint = twin.at("/reload/?full=1").header("x-team", "ml").and_then(|it| it.secret(secret)).expect("headers");
    let body = Some(r#"{"app": "{application}", "receipt": "{receipt}", "part": "{component}"}"#.to_owned());
    assert_eq!(act(Settings { method: "PUT".to_owned(), body, ..Settings::post(endpoint.clone()) }), Effect::Done);
    let seen = twin.seen().remove(0);
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("PUT", "/reload/?full=1"));
    assert_eq!(seen.header("x-team"), Some("ml"));
    assert_eq!(seen.header("authorization"), Some("Bearer s3cr3t-t0ken"));
    let key = seen.header("idempotency-key").expect("a key");
    assert!(key.starts_with("inc_") && key.ends_with("/1/reload_model"), "{key}");
    let body: serde_json::Value = serde_json::from_str(&seen.body).expect("json");
    assert_eq!((body["app"].as_str(), body["part"].as_str()), (Some("fraud"), Some("application")));
    std::fs::remove_file(&file).expect("removed");
    assert_eq!(act(Settings::post(endpoint)), Effect::NotStarted, "without its secret nothing is sent");
    assert_eq!(twin.seen().len(), 1);
}

#[test]
fn a_placeholder_without_a_value_sends_nothing() {
    let twin = Twin::new(|_| ok(""));
    let body = Some(r#"{"version": "{version}"}"#.to_owned());
    assert_eq!(act(Settings { body, ..Settings::post(twin.at("/")) }), Effect::NotStarted);
    assert_eq!(twin.seen().len(), 0);
}

#[test]
fn if_match_is_what_was_seen_before() {
    let twin = Twin::new(|seen| match seen.header("if-match") {
        Some("\"7\"") => ok(""),
        _ => Say::Status(412, String::new()),
    });
    let probe = || Some(Arc::new(ProbeTwin(|| Identity::default().with(Mark::Generation, "7"))) as _);
    let settings = Settings { if_match: Some(Mark::Generation), ..Settings::post(twin.at("/")) };
    let adapter = Http::new(settings, declared(Action::ReloadModel, Written::default()), probe()).expect("an adapter");
    let act =
        |before: Identity| adapter.act(&intent(&receipt(Action::ReloadModel, before, Identity::default()))).effect;
    assert_eq!(act(Identity::default().with(Mark::Generation, "7")), Effect::Done);
    assert_eq!(act(Identity::default().with(Mark::Generation, "6")), Effect::Refused);
    assert_eq!(act(Identity::default()), Effect::NotStarted);
    assert_eq!(act(Identity::default().with(Mark::Generation, "7\"\r\nx: y")), Effect::NotStarted);
}

#[test]
fn a_job_is_followed_to_its_end() {
    let follow = |words: &'static [&'static str]| {
        let count = AtomicUsize::new(0);
        let twin = Twin::new(move |seen| match seen.path.as_str() {
            "/job" => {
                let place = count.fetch_add(1, Ordering::SeqCst);
                match words.get(place.min(words.len() - 1)) {
                    Some(&"broken") => Say::Reset,
                    Some(word) => ok(&format!(r#"{{"job": {{"state": "{word}"}}}}"#)),
                    None => Say::Reset,
                }
            }
            _ => Say::Status(202, String::new()),
        });
        let every = Duration::from_millis(20);
        let poll = Poll { every, ..Poll::new(twin.at("/job"), "/job/state", &["succeeded"], &["failed"]) };
        act(Settings { poll: Some(poll), ..Settings::post(twin.at("/start")) })
    };
    assert_eq!(follow(&["queued", "running", "succeeded"]), Effect::Done);
    assert_eq!(follow(&["queued", "broken", "succeeded"]), Effect::Done);
    assert_eq!(follow(&["running", "failed"]), Effect::Unknown);
    assert_eq!(follow(&["running"]), Effect::Unknown, "never ends");
}

#[test]
fn what_makes_no_sense_is_refused_at_load() {
    let endpoint = || Endpoint::new("https://ml.internal/reload", false).expect("an address");
    let field = |settings: Settings, written: Written| {
        let declaration = declared(Action::ReloadModel, written);
        Http::new(settings, declaration, None).err().map(|invalid| invalid.field).unwrap_or_default()
    };
    let post = || Settings::post(endpoint());
    assert_eq!(field(post(), Written::default()), "");
    assert_eq!(field(Settings { method: "GET".to_owned(), ..post() }, Written::default()), "method");
    assert_eq!(field(Settings { success: vec![302], ..post() }, Written::default()), "success");
    assert_eq!(field(Settings { success: vec![], ..post() }, Written::default()), "success");
    let bare = Some(r#"{"app": {application}}"#.to_owned());
    assert_eq!(field(Settings { body: bare, ..post() }, Written::default()), "body");
    let poll = Poll::new(endpoint(), "state", &["done"], &[]);
    assert_eq!(field(Settings { poll: Some(poll), ..post() }, Written::default()), "poll");
    assert_eq!(field(Settings { if_match: Some(Mark::Revision), ..post() }, Written::default()), "fence");
    let undo = sanare_core::service::declaration::Undo::CancelJob;
    let reversible = Written { reversible: Some(true), undo: Some(undo), ..Written::default() };
    assert_eq!(field(post(), reversible), "undo");
}

#[test]
fn it_is_available_while_somebody_listens() {
    let twin = Twin::new(|_| ok(""));
    assert_eq!(adapter(Settings::post(twin.at("/"))).available(), Availability::Available);
    assert!(twin.seen().is_empty(), "nothing is sent to find out");
    assert!(matches!(adapter(Settings::post(nobody())).available(), Availability::Unavailable(_)));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    /// Whatever a version, a component or an application is called: the address is the configured one, and in the body they
    /// are where their placeholders are, and nowhere else (S79).
    #[test]
    fn no_name_reaches_the_address(version in "[A-Za-z0-9][A-Za-z0-9._:+/@-]{0,40}|\\PC{1,40}", component in "[a-z0-9._-]{1,30}", application in "[a-z0-9._-]{1,30}") {
        use sanare_core::service::{Application, Component, Params, Version};
        let from = Version::parse("42").expect("a version");
        let version = Version::parse(version).unwrap_or_else(|_| from.clone());
        let twin = Twin::new(|_| ok("{}"));
        let body = r#"{"v": "{version}", "a": "{application}", "c": ["{component}"]}"#.to_owned();
        let adapter = adapter_of(Settings { body: Some(body), ..Settings::post(twin.at("/switch?now=1")) });
        let mut intent = intent(&receipt(Action::RollbackModel, Identity::default(), Identity::default()));
        intent.params = Params::Rollback { from_version: from, to_version: version.clone() };
        intent.component = Component::parse(component).unwrap_or(intent.component);
        intent.application = Application::parse(application).unwrap_or(intent.application);
        proptest::prop_assert_eq!(adapter.act(&intent).effect, Effect::Done);
        let [seen] = twin.seen().try_into().expect("one request");
        proptest::prop_assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/switch?now=1"));
        let told: serde_json::Value = serde_json::from_str(&seen.body).expect("json");
        let wanted = serde_json::json!({ "v": version, "a": intent.application, "c": [intent.component] });
        proptest::prop_assert_eq!(told, wanted);
    }
}

fn adapter_of(settings: Settings) -> Http {
    Http::new(settings, declared(Action::RollbackModel, Written::default()), None).expect("an adapter")
}
