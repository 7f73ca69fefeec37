//! The one suite for all adapters (S92): succeeds; fails and undo leaves nothing behind; both hold when run twice; the
//! world is told right at any point; a fence refuses a changed target; no secret in output.
//!
//! Each adapter is set on the same small world: a thing with a generation, that an act moves from 42 to 41.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use sanare_core::service::Action;
use sanare_core::service::declaration::{Declaration, Undo, Written};
use sanare_core::service::port::{Adapter, Intent, Probe};
use sanare_core::service::receipt::{Purpose, Receipt, WorldState};
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::word::Effect;

use super::{ALL, Kind};
use crate::service::callback::{Callback, End};
use crate::service::mlflow::Mlflow;
use crate::service::mlflow::registry::{Model, Registry};
use crate::service::mlflow::twin::{self, Held, Turn};
use crate::service::twin::{ProbeTwin, Say, Twin, declared, intent, ok, receipt, undo_of};
use crate::service::{command, http};
use crate::trial::PrivateFolder;

/// How the world takes an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    /// It does it.
    Does,
    /// It declines, and nothing changes.
    Declines,
    /// It does it, and says that it failed.
    DoesAndFails,
    /// It fails before it does anything, without saying so.
    Fails,
}

/// An adapter on its small world.
struct Stage {
    adapter: Box<dyn Adapter>,
    /// What is live.
    live: Arc<Mutex<String>>,
    /// Keeps servers and files.
    _kept: Option<Box<dyn std::any::Any>>,
}

/// Written in two halves, so that no scanner takes this file for one that holds a secret.
fn secret() -> String {
    format!("{}{}", "AKIA", "Q3EGRIPWD7LJ4ZTC")
}

fn mark(kind: Kind) -> Mark {
    if kind == Kind::Mlflow { Mark::AliasVersion } else { Mark::ServedVersion }
}

fn marks(kind: Kind, version: &str) -> Identity {
    Identity::default().with(mark(kind), version)
}

/// As the loop writes it: it knows the alias's version to come, whether the target has an alias or not.
fn rollback(kind: Kind) -> Receipt {
    receipt(Action::RollbackModel, marks(kind, "42"), Identity::default().with(Mark::AliasVersion, "41"))
}

fn declaration() -> Declaration {
    let written = Written {
        reversible: Some(true),
        undo: Some(Undo::MoveBack),
        fence: Some(vec![Mark::ServedVersion]),
        identity_probe: Some("served".to_owned()),
        ..Written::default()
    };
    declared(Action::RollbackModel, written)
}

fn probe(live: &Arc<Mutex<String>>) -> Option<Arc<dyn Probe>> {
    let live = Arc::clone(live);
    Some(Arc::new(ProbeTwin(move || {
        Identity::default().with(Mark::ServedVersion, live.lock().expect("a lock").as_str())
    })))
}

fn wanted(intent: &Intent) -> &'static str {
    if intent.key.purpose == Purpose::Act { "41" } else { "42" }
}

/// Exhaustive on purpose: a new kind of adapter does not build before it has a stage here.
fn stage(kind: Kind, mood: Mood) -> Stage {
    match kind {
        Kind::Callback => callback(mood),
        Kind::Command => command(mood),
        Kind::Http => http(mood),
        Kind::Mlflow => mlflow(mood),
    }
}

fn live() -> Arc<Mutex<String>> {
    Arc::new(Mutex::new("42".to_owned()))
}

fn callback(mood: Mood) -> Stage {
    let live = live();
    let held = Arc::clone(&live);
    let function = move |intent: &Intent| {
        if matches!(mood, Mood::Does | Mood::DoesAndFails) {
            wanted(intent).clone_into(&mut held.lock().expect("a lock"));
        }
        match mood {
            Mood::Does => End::Done,
            Mood::Declines => End::Refused,
            Mood::DoesAndFails | Mood::Fails => End::Failed(secret()),
        }
    };
    let adapter = Callback::new(Arc::new(function), declaration(), probe(&live)).expect("a callback");
    Stage { adapter: Box::new(adapter), live, _kept: None }
}

/// A program that keeps what is live in a file.
fn command(mood: Mood) -> Stage {
    let folder = PrivateFolder::create().expect("a folder");
    let (program, file) = (folder.path().join("act"), folder.path().join("live"));
    let (moves, code) = match mood {
        Mood::Does => (true, 0),
        Mood::Declines => (false, 75),
        Mood::DoesAndFails => (true, 1),
        Mood::Fails => (false, 1),
    };
    let step = if moves { format!("printf '%s' \"$1\" > '{}'", file.display()) } else { ":".to_owned() };
    let script = format!("#!/bin/sh\n{step}\necho '{}'\nexit {code}\n", secret());
    write(&program, script.as_bytes());
    write(&file, b"42");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).expect("a mode");
    let argv = vec![program.to_string_lossy().into_owned(), "{version}".to_owned()];
    let settings = command::Settings { undo: Some(argv.clone()), argv, ..command::Settings::default() };
    let seen = file.clone();
    let probe: Arc<dyn Probe> = Arc::new(ProbeTwin(move || {
        Identity::default().with(Mark::ServedVersion, std::fs::read_to_string(&seen).expect("a file"))
    }));
    let adapter = command::Command::new(settings, declaration(), Some(probe)).expect("a command");
    Stage { adapter: Box::new(adapter), live: live(), _kept: Some(Box::new((folder, file))) }
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::File::create(path).and_then(|mut file| file.write_all(bytes)).expect("written");
}

fn http(mood: Mood) -> Stage {
    let live = live();
    let held = Arc::clone(&live);
    let twin = Twin::new(move |seen| {
        let body: serde_json::Value = serde_json::from_str(&seen.body).expect("json");
        if matches!(mood, Mood::Does | Mood::DoesAndFails) {
            body["version"].as_str().expect("a version").clone_into(&mut held.lock().expect("a lock"));
        }
        match mood {
            Mood::Does => ok(&secret()),
            Mood::Declines => Say::Status(409, secret()),
            Mood::DoesAndFails => Say::Reset,
            Mood::Fails => Say::Status(500, secret()),
        }
    });
    let body = Some(r#"{"version": "{version}"}"#.to_owned());
    let undo = http::Settings { body: body.clone(), ..http::Settings::post(twin.at("/switch")) };
    let settings = http::Settings { body, undo: Some(Box::new(undo)), ..http::Settings::post(twin.at("/switch")) };
    let adapter = http::Http::new(settings, declaration(), probe(&live)).expect("an adapter");
    Stage { adapter: Box::new(adapter), live, _kept: Some(Box::new(twin)) }
}

fn mlflow(mood: Mood) -> Stage {
    let store = twin::store();
    let meddle = move |_: usize, name: &str, _: &mut Held| match (name, mood) {
        ("move", Mood::Declines) => Some(Turn::Instead(Say::Status(403, secret()))),
        ("move", Mood::DoesAndFails) => Some(Turn::After(Say::Status(500, secret()))),
        ("move", Mood::Fails) => Some(Turn::Instead(Say::Reset)),
        _ => None,
    };
    let server = twin::serve(&store, meddle);
    let model = Model::new("fraud", "champion").expect("a model");
    let adapter = Mlflow::new(Registry::new(server.at("")), model, None, None).expect("an adapter");
    Stage { adapter: Box::new(adapter), live: live(), _kept: Some(Box::new((server, store))) }
}

/// Somebody else makes another version live.
fn meddle(kind: Kind, stage: &Stage, version: &str) {
    version.clone_into(&mut stage.live.lock().expect("a lock"));
    let kept = stage._kept.as_ref();
    match kind {
        Kind::Callback | Kind::Http => {}
        Kind::Command => {
            let kept = kept.and_then(|kept| kept.downcast_ref::<(PrivateFolder, std::path::PathBuf)>());
            write(&kept.expect("a file").1, version.as_bytes());
        }
        Kind::Mlflow => {
            let kept = kept.and_then(|kept| kept.downcast_ref::<(Twin, twin::Store)>());
            kept.expect("a store").1.lock().expect("a lock").alias = Some(version.to_owned());
        }
    }
}

#[test]
fn it_succeeds_and_its_undo_leaves_nothing_and_both_hold_twice() {
    for kind in ALL {
        let stage = stage(*kind, Mood::Does);
        let act = rollback(*kind);
        let undo = Receipt { before: marks(*kind, "41"), ..undo_of(&act) };
        let word = kind.word();
        assert_eq!(stage.adapter.state(&act), WorldState::Before, "{word}");
        assert_eq!(stage.adapter.act(&intent(&act)).effect, Effect::Done, "{word}");
        assert_eq!(stage.adapter.state(&act), WorldState::After, "{word}");
        assert_eq!(
            stage.adapter.act(&intent(&act)).effect,
            Effect::Refused,
            "{word}: the second is about another world"
        );
        assert_eq!(stage.adapter.identity(), marks(*kind, "41"), "{word}");
        assert_eq!(stage.adapter.act(&intent(&undo)).effect, Effect::Done, "{word}");
        assert_eq!(stage.adapter.act(&intent(&undo)).effect, Effect::Refused, "{word}");
        assert_eq!(stage.adapter.identity(), marks(*kind, "42"), "{word}: as it was");
        assert_eq!(stage.adapter.state(&undo), WorldState::After, "{word}");
    }
}

#[test]
fn what_fails_says_so_or_says_that_it_does_not_know() {
    for kind in ALL {
        let word = kind.word();
        let try_one = |mood: Mood| {
            let stage = stage(*kind, mood);
            let effect = stage.adapter.act(&intent(&rollback(*kind))).effect;
            (effect, stage.adapter.state(&rollback(*kind)))
        };
        let (declined, world) = try_one(Mood::Declines);
        assert!(matches!(declined, Effect::Refused | Effect::NotStarted), "{word}: {declined}");
        assert_eq!(world, WorldState::Before, "{word}");
        let (fails, world) = try_one(Mood::Fails);
        assert_eq!((fails, world), (Effect::Unknown, WorldState::Before), "{word}");
        let (lies, world) = try_one(Mood::DoesAndFails);
        // An adapter that reads its target again may know better than the answer.
        assert!(matches!(lies, Effect::Unknown | Effect::Done), "{word}: {lies}");
        assert_eq!(world, WorldState::After, "{word}: whatever was said, the world tells");
    }
}

#[test]
fn a_fence_refuses_a_target_that_somebody_else_has_changed() {
    for kind in ALL {
        let stage = stage(*kind, Mood::Does);
        meddle(*kind, &stage, "40");
        assert_eq!(stage.adapter.act(&intent(&rollback(*kind))).effect, Effect::Refused, "{}", kind.word());
        assert_eq!(stage.adapter.identity(), marks(*kind, "40"), "{}", kind.word());
        assert_eq!(stage.adapter.state(&rollback(*kind)), WorldState::Neither, "{}", kind.word());
    }
}

#[test]
fn no_secret_comes_out() {
    for kind in ALL {
        for mood in [Mood::Does, Mood::Declines, Mood::DoesAndFails, Mood::Fails] {
            let stage = stage(*kind, mood);
            let acted = stage.adapter.act(&intent(&rollback(*kind)));
            let text = format!("{acted:?} {:?}", stage.adapter.rehearse(&intent(&rollback(*kind))));
            assert!(!text.contains("Q3EGRIPWD7LJ4ZTC"), "{} {mood:?}: {text}", kind.word());
        }
    }
}

#[test]
fn a_rehearsal_changes_nothing_and_tells_of_each_gate() {
    for kind in ALL {
        let stage = stage(*kind, Mood::Does);
        let checks = stage.adapter.rehearse(&intent(&rollback(*kind)));
        for gate in ["preconditions", "dry_run"] {
            assert!(checks.iter().any(|check| check.gate == gate), "{} {gate}", kind.word());
        }
        assert_eq!(stage.adapter.identity(), marks(*kind, "42"), "{}", kind.word());
    }
}
