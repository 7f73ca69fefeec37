//! What a person gets who takes an incident over: a snapshot for every reason of it (S113).

use std::path::{Path, PathBuf};

use sanare_core::service::run::MessageKind;
use sanare_core::service::step::Cause;
use sanare_core::service::{Change, Status};
use sanare_engine::service::Loop;
use sanare_store::Memory;
use serde_json::Value as Json;

use super::hooked::Hooked;
use super::theatre::{Script, Stage, turn};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/handover");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Plays a script; `forgets` has its store lose the snapshots.
fn played(script: &Script, forgets: bool) -> String {
    let stage = Stage::on(script, Box::new(Memory::new()));
    let store = Hooked::new(
        stage.store.as_ref(),
        Box::new(move |store, change| {
            let lost = Change { snapshots: Vec::new(), ..change.clone() };
            store.commit(if forgets { &lost } else { change })
        }),
    );
    let worker = Loop::new(stage.world(&store), "worker");
    for _ in 0..=script.minutes * 4 {
        turn(&stage, &worker);
        stage.clock.pass(15_000);
    }
    let id = stage.incident.borrow().clone().unwrap();
    let incident = stage.store.incident(&id).unwrap().unwrap();
    assert_eq!(incident.status(), Status::HandedOver, "it stays open until it clears, or a person closes it");
    let told = stage.store.outbox(100).unwrap();
    let told: Vec<_> = told.iter().filter(|message| message.kind == MessageKind::Escalation).collect();
    assert_eq!(told.len(), 1, "one open hand-over an incident");
    shown(told[0].body.as_ref(), id.as_str())
}

/// The message as a person reads it.
fn shown(body: &Json, id: &str) -> String {
    let text = |path: &str| body.pointer(path).and_then(Json::as_str).unwrap_or("-").to_owned();
    let list = |path: &str| body.pointer(path).and_then(Json::as_array).cloned().unwrap_or_default();
    let word = |one: &Json, key: &str| one[key].as_str().map_or_else(|| "-".to_owned(), str::to_owned);
    let mut out = vec![
        format!("{}: {}", text("/cause"), text("/why")),
        format!("{} {} of {}/{}", text("/severity"), text("/kind"), text("/application"), text("/component")),
        format!("since {}: {}", text("/since"), text("/summary")),
        format!("evidence: {} readings", list("/evidence").len()),
        format!("diagnosis: {}, because {}", text("/diagnosis/summary"), text("/diagnosis/probable_cause")),
    ];
    let missing = list("/diagnosis/missing_information");
    out.extend(missing.iter().map(|one| format!("not known: {}", one.as_str().unwrap_or_default())));
    for one in list("/attempts") {
        let (action, outcome) = (word(&one, "action"), word(&one, "outcome"));
        out.push(format!("tried: {action}, {outcome} ({}): {}", word(&one, "effect"), word(&one, "summary")));
    }
    for one in list("/versions") {
        let (from, to) = (word(&one, "from"), word(&one, "to"));
        out.push(format!("live: {} from {from} to {to}, {}", word(&one, "version"), word(&one, "standing")));
    }
    for one in list("/withheld") {
        out.push(format!("not offered: {}: {}", word(&one, "action"), word(&one, "why")));
    }
    out.extend(list("/next").iter().map(|one| format!("$ {}", one.as_str().unwrap_or_default())));
    let plain = |line: &str| {
        let words = line.split(' ').map(|word| if word.starts_with("rct_") { "RECEIPT" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    let text: Vec<String> = out.iter().map(|line| plain(&line.replace(id, "INCIDENT"))).collect();
    text.join("\n").replace("receipt rct_", "receipt RECEIPT")
}

#[test]
fn every_reason_of_a_hand_over_has_its_message() {
    std::panic::set_hook(Box::new(|_| {}));
    let (mut wrong, mut causes) = (Vec::new(), Vec::new());
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let script: Script =
            toml::from_str(crate::block(&text, "toml")).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let got = played(&script, name == "internal");
        let expected = crate::block(&text, "text").trim();
        if got != expected {
            if std::env::var_os("SANARE_UPDATE").is_some() {
                std::fs::write(&path, text.replace(crate::block(&text, "text"), &format!("{got}\n"))).unwrap();
            }
            wrong.push(format!("{name}:\nexpected\n{expected}\n\ngot\n{got}\n"));
        }
        let cause = name.split('-').next().unwrap();
        assert!(got.starts_with(&format!("{cause}: ")), "{name}: {got}");
        causes.push(Cause::parse(cause).unwrap());
    }
    // What policy refuses is told as a refusal, and not as a hand-over.
    let missing = Cause::ALL.iter().filter(|cause| **cause != Cause::Refused && !causes.contains(cause));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&Cause>::new());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
