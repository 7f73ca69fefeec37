//! Moving an alias while others meddle, the server dies, and versions disappear.

use std::sync::Arc;
use std::time::Duration;

use sanare_core::service::declaration::Written;
use sanare_core::service::gates::GateCheck;
use sanare_core::service::port::{Adapter, Availability};
use sanare_core::service::receipt::{Receipt, WorldState};
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::word::Effect;
use sanare_core::service::{Action, Invalid};

use super::registry::{Model, Registry};
use super::twin::{Held, Store, Turn, serve, store};
use super::{Mlflow, TAG};
use crate::service::callback::{Callback, End};
use crate::service::twin::{ProbeTwin, Say, Twin, declared, intent, nobody, receipt, undo_of};

fn adapter(twin: &Twin, then: Option<Arc<dyn Adapter>>) -> Mlflow {
    let model = Model::new("fraud", "champion").expect("a model");
    let again = Duration::from_millis(20);
    let mut adapter = Mlflow::new(Registry::new(twin.at("")), model, None, then).expect("an adapter");
    adapter.again = again;
    adapter
}

fn marks(version: &str) -> Identity {
    Identity::default().with(Mark::AliasVersion, version)
}

fn rollback() -> Receipt {
    receipt(Action::RollbackModel, marks("42"), marks("41"))
}

/// Rolls back while `meddle` does what it does: the effect, the moves that were made, and what the world says.
fn check(
    meddle: impl Fn(usize, &str, &mut Held) -> Option<Turn> + Send + Sync + 'static,
) -> (Effect, Vec<String>, WorldState) {
    let store = store();
    let twin = serve(&store, meddle);
    let adapter = adapter(&twin, None);
    let effect = adapter.act(&intent(&rollback())).effect;
    let state = adapter.state(&rollback());
    (effect, moves(&store), state)
}

fn moves(store: &Store) -> Vec<String> {
    store.lock().expect("a lock").moves.clone()
}

fn ours() -> Vec<String> {
    vec!["41".to_owned()]
}

#[test]
fn an_alias_is_moved_tagged_and_moved_back() {
    let store = store();
    let twin = serve(&store, |_, _, _| None);
    let adapter = adapter(&twin, None);
    assert_eq!(adapter.available(), Availability::Available);
    assert_eq!(adapter.identity(), marks("42"));
    assert_eq!(adapter.state(&rollback()), WorldState::Before);
    let acted = adapter.act(&intent(&rollback()));
    assert_eq!((acted.effect, acted.arrived), (Effect::Done, marks("41")));
    assert_eq!(adapter.state(&rollback()), WorldState::After);
    let tag = store.lock().expect("a lock").tags.get(&("41".to_owned(), TAG.to_owned())).cloned();
    assert_eq!(tag.as_deref(), Some(rollback().key.incident.as_str()));
    assert_eq!(adapter.act(&intent(&rollback())).effect, Effect::Refused, "a second time it is not where it was");
    let undo = undo_of(&rollback());
    assert_eq!(adapter.act(&intent(&undo)).effect, Effect::Done);
    assert_eq!((moves(&store), adapter.state(&undo)), (vec!["41".to_owned(), "42".to_owned()], WorldState::After));
}

#[test]
fn an_undo_is_refused_once_somebody_else_has_moved_it() {
    let store = store();
    let twin = serve(&store, |_, _, _| None);
    let adapter = adapter(&twin, None);
    adapter.act(&intent(&rollback()));
    store.lock().expect("a lock").alias = Some("40".to_owned());
    assert_eq!(adapter.act(&intent(&undo_of(&rollback()))).effect, Effect::Refused);
    assert_eq!(moves(&store), ours());
    assert_eq!(adapter.state(&undo_of(&rollback())), WorldState::Neither);
}

#[test]
fn a_rival_is_never_overwritten_at_whatever_point_he_writes() {
    // Reads, tags and writes of one act: alias, version, tag, alias, move, alias, alias.
    let mut answers = Vec::new();
    for point in 0..7 {
        answers.push(check(move |place, _, held| {
            if place == point {
                held.alias = Some("40".to_owned());
            }
            None
        }));
    }
    let refused = || (Effect::Refused, Vec::new(), WorldState::Neither);
    let seen = || (Effect::Unknown, ours(), WorldState::Neither);
    // At point 4 he writes between our last look and our write: the one gap that a registry without compare-and-set has.
    let overwritten = (Effect::Done, ours(), WorldState::After);
    assert_eq!(answers, [refused(), refused(), refused(), refused(), overwritten, seen(), seen()]);
    let back = check(|place, _, held| {
        if place == 6 {
            held.alias = Some("42".to_owned());
        }
        None
    });
    assert_eq!(back, (Effect::Unknown, ours(), WorldState::Before), "somebody moved it back: no second write");
}

#[test]
fn a_server_that_dies_at_any_point_leaves_no_doubt_or_says_so() {
    let dies = |point: usize, after: bool| {
        check(move |place, _, _| match (place == point, after) {
            (true, true) => Some(Turn::After(Say::Reset)),
            (true, false) => Some(Turn::Instead(Say::Reset)),
            _ => None,
        })
    };
    for point in 0..4 {
        let (effect, moves, state) = dies(point, true);
        assert_eq!((effect, moves.len(), state), (Effect::NotStarted, 0, WorldState::Before), "point {point}");
    }
    assert_eq!(dies(4, true), (Effect::Done, ours(), WorldState::After), "the answer was lost, the alias says so");
    assert_eq!(dies(4, false), (Effect::Unknown, Vec::new(), WorldState::Before), "it may still be under way");
    assert_eq!(dies(5, true), (Effect::Unknown, ours(), WorldState::After));
    assert_eq!(dies(6, true), (Effect::Unknown, ours(), WorldState::After));
    let store = store();
    let gone = Mlflow { registry: Registry::new(nobody()), ..adapter(&serve(&store, |_, _, _| None), None) };
    assert_eq!(gone.act(&intent(&rollback())).effect, Effect::NotStarted);
    assert_eq!(gone.state(&rollback()), WorldState::CannotTell);
    assert!(matches!(gone.available(), Availability::Unavailable(_)));
}

#[test]
fn states_of_the_registry_that_stop_it() {
    let held = |change: fn(&mut Held)| {
        check(move |place, _, held| {
            if place == 0 {
                change(held);
            }
            None
        })
    };
    let refused = |state| (Effect::Refused, Vec::new(), state);
    assert_eq!(held(|held| held.alias = None), refused(WorldState::CannotTell), "no alias: 400");
    let gone = held(|held| drop(held.versions.remove("41")));
    assert_eq!(gone, refused(WorldState::Before), "no such version: 404");
    let pending = held(|held| drop(held.versions.insert("41".to_owned(), "PENDING_REGISTRATION".to_owned())));
    assert_eq!(pending, refused(WorldState::Before));
    let meanwhile = check(|place, _, held| {
        if place == 4 {
            held.versions.remove("41");
        }
        None
    });
    assert_eq!(meanwhile, (Effect::Refused, Vec::new(), WorldState::Before), "deleted just before the write");
    let forbidden = check(|_, _, _| Some(Turn::Instead(Say::Status(403, "host not allowed".to_owned()))));
    assert_eq!(forbidden.0, Effect::NotStarted, "a host that the registry does not serve");
    let broken = check(|place, _, _| (place == 4).then(|| Turn::Instead(Say::Status(500, String::new()))));
    assert_eq!(broken, (Effect::Unknown, Vec::new(), WorldState::Before));
}

#[test]
fn the_service_is_told_after_the_alias_and_never_without_it() {
    let run = |end: End, meddle: fn(usize, &str, &mut Held) -> Option<Turn>| {
        let store = store();
        let twin = serve(&store, meddle);
        let calls = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (seen, held) = (Arc::clone(&calls), Arc::clone(&store));
        let function = move |_: &_| {
            seen.lock().expect("a lock").push(held.lock().expect("a lock").alias.clone());
            end.clone()
        };
        let then = Callback::new(Arc::new(function), declared(Action::ReloadModel, Written::default()), None);
        let acted = adapter(&twin, Some(Arc::new(then.expect("a callback")))).act(&intent(&rollback()));
        let calls = calls.lock().expect("a lock").clone();
        (acted.effect, calls)
    };
    let at_ours = vec![Some("41".to_owned())];
    assert_eq!(run(End::Done, |_, _, _| None), (Effect::Done, at_ours.clone()));
    assert_eq!(run(End::NotStarted, |_, _, _| None), (Effect::Unknown, at_ours), "moved and not loaded is not done");
    let refused = run(End::Done, |_, _, held| {
        held.alias = Some("40".to_owned());
        None
    });
    assert_eq!(refused, (Effect::Refused, Vec::new()));
}

#[test]
fn a_rehearsal_reads_and_writes_nothing() {
    let rehearse = |meddle: fn(usize, &str, &mut Held) -> Option<Turn>| {
        let twin = serve(&store(), meddle);
        let checks = adapter(&twin, None).rehearse(&intent(&rollback()));
        assert_eq!(twin.writes(), 0);
        checks.iter().map(|check: &GateCheck| format!("{} {:?}", check.name, check.answer)).collect::<Vec<_>>()
    };
    assert_eq!(rehearse(|_, _, _| None), ["alias_unmoved Passed", "version_exists Passed", "reads Passed"]);
    let moved = rehearse(|_, _, held| {
        held.alias = Some("40".to_owned());
        None
    });
    assert_eq!(moved, ["alias_unmoved Failed", "version_exists Passed", "reads Failed"]);
    let gone = rehearse(|_, _, held| {
        held.versions.remove("41");
        None
    });
    assert_eq!(gone, ["alias_unmoved Passed", "version_exists Failed", "reads Failed"]);
    let silent = rehearse(|_, _, _| Some(Turn::Instead(Say::Reset)));
    assert_eq!(silent, ["alias_unmoved Skipped", "version_exists Skipped", "reads Failed"]);
}

#[test]
fn what_is_served_is_a_mark_of_its_own() {
    let store = store();
    let twin = serve(&store, |_, _, _| None);
    let served: Arc<ProbeTwin<_>> = Arc::new(ProbeTwin(|| Identity::default().with(Mark::ServedVersion, "42")));
    let adapter = Mlflow { served: Some(served), ..adapter(&twin, None) };
    let intended = marks("41").with(Mark::ServedVersion, "41");
    let before = marks("42").with(Mark::ServedVersion, "42");
    let receipt = receipt(Action::RollbackModel, before.clone(), intended);
    assert_eq!(adapter.identity(), before);
    assert_eq!(adapter.act(&intent(&receipt)).effect, Effect::Done);
    assert_eq!(adapter.state(&receipt), WorldState::Neither, "moved, and the service does not know it");
}

#[test]
fn a_configuration_only_makes_it_stricter() {
    let twin = serve(&store(), |_, _, _| None);
    let declare = |written: Written| adapter(&twin, None).declared(&written).map(drop).map_err(|it: Invalid| it.field);
    assert_eq!(declare(Written { idempotent: Some(false), ..Written::default() }), Ok(()));
    assert_eq!(declare(Written { fence: Some(Vec::new()), ..Written::default() }), Err("fence".to_owned()));
    let key = adapter(&twin, None).declaration.target.to_string();
    assert!(key.starts_with("mlflow:127.0.0.1:") && key.ends_with("/fraud/champion"), "{key}");
}
