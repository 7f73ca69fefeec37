//! Each provider against every bad answer: one class of failure, one retry where it may help, in bounded time (S73).

use std::io::Write as _;

use sanare_core::model::prompt::{Prompt, Purpose};
use sanare_core::model::request::Request;
use sanare_core::model::setup::{Provider, Setup, setup};
use sanare_core::model::wire::{self, Turn};
use sanare_core::port::ModelPort as _;
use sanare_core::settings::{Settings, SettingsFile, Sources};

use super::RealModel;
use crate::service::Endpoint;
use crate::service::twin::{Say, Twin, nobody, ok};
use crate::trial::PrivateFolder;

/// Providers that are asked over a connection.
const PROVIDERS: [&str; 5] = ["openai", "azure", "anthropic", "ollama", "compatible"];

fn made(lines: &str) -> Setup {
    let file = SettingsFile { path: "s".into(), text: format!("[model]\n{lines}"), in_pyproject: false };
    let settings = Settings::resolve(&Sources { project: Some(file), ..Sources::default() }).expect("settings");
    setup(&settings).expect("a setup").expect("a provider")
}

/// What becomes of one question, and in which class it falls.
fn asked(setup: &Setup) -> String {
    let request = Request { system: "s".to_owned(), user: "u".to_owned(), handles: Vec::new(), left_out: Vec::new() };
    let turn = Turn { max_tokens: 800, json_mode: setup.json_mode, complaint: None };
    let outgoing = wire::outgoing(setup, &Prompt::newest(Purpose::DiagnoseIncident), &request, turn);
    match RealModel.exchange(setup, &outgoing, 4_000, &mut || false) {
        Err(fault) => fault.word().to_owned(),
        Ok(incoming) if incoming.status != 200 => incoming.status.to_string(),
        Ok(incoming) => wire::read(setup.provider, &incoming.body).map_or_else(|why| why.to_string(), |one| one.text),
    }
}

/// A good answer in a provider's own form.
fn good(provider: Provider) -> String {
    match provider {
        Provider::Anthropic => r#"{"content":[{"type":"text","text":"fine"}],"stop_reason":"end_turn"}"#.to_owned(),
        Provider::Ollama => r#"{"message":{"content":"fine"},"done_reason":"stop"}"#.to_owned(),
        _ => r#"{"choices":[{"message":{"content":"fine"},"finish_reason":"stop"}]}"#.to_owned(),
    }
}

fn address(endpoint: &Endpoint) -> String {
    format!("http://{}", endpoint.authority())
}

fn of(provider: &str, address: &str, key: &str) -> Setup {
    let more = if provider == "azure" { "api_version = \"1\"\n" } else { "" };
    made(&format!(
        "provider = \"{provider}\"\nmodel = \"m\"\nbase_url = \"{address}\"\napi_key_file = \"{key}\"\ntimeout = \"1s\"\n{more}"
    ))
}

#[test]
fn every_bad_answer_of_every_provider_has_its_class() {
    let folder = PrivateFolder::create().expect("a folder");
    let key = folder.path().join("key");
    std::fs::File::create(&key).and_then(|mut file| file.write_all(b"k3y")).expect("a file");
    let key = key.to_str().expect("a path");
    let not_json = "the provider's answer is not JSON";
    let other = "the provider's answer has another form than its interface says";
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"choices\"".to_vec();
    // What is said, what comes of it, and how often it is asked.
    let table: Vec<(Say, &str, usize)> = vec![
        (Say::Status(401, "bad key k3y".to_owned()), "401", 1),
        (Say::With(429, "retry-after: 0", String::new()), "429", 2),
        (Say::With(429, "retry-after: 2", String::new()), "429", 1),
        (Say::Status(500, "broken".to_owned()), "500", 2),
        (Say::With(301, "location: http://169.254.169.254/", String::new()), "301", 1),
        (ok("<html>a proxy's page</html>"), not_json, 1),
        (ok(""), not_json, 1),
        (ok("{}"), other, 1),
        (ok("[]"), other, 1),
        (Say::Raw(cut), "broken", 2),
        (Say::Reset, "broken", 2),
        (Say::Raw(b"SSH-2.0-OpenSSH\r\n".to_vec()), "not_http", 1),
        (Say::Endless, "too_long", 1),
        (Say::Hang, "timeout", 1),
    ];
    let check = |provider: &str, say: &Say, expect: &str, times: usize| {
        let said = say.clone();
        let twin = Twin::new(move |_| said.clone());
        let mut setup = of(provider, &address(&twin.at("")), key);
        setup.longest_wait_ms = 1_000;
        let found = asked(&setup);
        assert_eq!((found.as_str(), twin.seen().len()), (expect, times), "{provider} {say:?}");
    };
    std::thread::scope(|scope| {
        for provider in PROVIDERS {
            for (say, expect, times) in &table {
                scope.spawn(move || check(provider, say, expect, *times));
            }
            // What the body is counts, not what its head calls it.
            scope.spawn(move || {
                let body = good(made_of(provider, key).provider);
                check(provider, &Say::With(200, "content-type: text/html", body), "fine", 1);
            });
            scope.spawn(move || assert_eq!(asked(&of(provider, &address(&nobody()), key)), "connect", "{provider}"));
        }
    });
}

fn made_of(provider: &str, key: &str) -> Setup {
    of(provider, "http://127.0.0.1:9", key)
}

#[test]
fn a_program_that_goes_wrong_has_its_class_too() {
    let ran = |script: &str| {
        asked(&made(&format!("provider = \"command\"\nargv = [\"/bin/sh\", \"-c\", {script:?}]\ntimeout = \"1s\"\n")))
    };
    let table = [
        ("echo fine", "fine\n"),
        ("true", ""),
        ("echo fine; exit 3", "left"),
        ("kill -9 $$", "broken"),
        ("sleep 30", "timeout"),
        ("trap '' TERM; sleep 30", "timeout"),
        ("head -c 10000000 /dev/zero", "too_long"),
    ];
    std::thread::scope(|scope| {
        for (script, expect) in table {
            scope.spawn(move || assert_eq!(ran(script), expect, "{script}"));
        }
    });
    assert_eq!(asked(&made("provider = \"command\"\nargv = [\"/nowhere/model\"]\n")), "cannot_start");
}

#[test]
fn a_key_that_is_not_there_is_told_and_nothing_is_sent() {
    let twin = Twin::new(|_| ok("{}"));
    for provider in PROVIDERS {
        assert_eq!(asked(&of(provider, &address(&twin.at("")), "/nowhere/key")), "no_key", "{provider}");
    }
    assert!(twin.seen().is_empty());
}
