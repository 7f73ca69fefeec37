//! Readings that many bring at once: one sync for several of them, and each answered for its own.

use sanare_core::id::Id;
use sanare_core::service::{
    Application, Change, Draft, Moment, NotMade, Observation, ObservedValue, ServiceStore, Signal, Source, Stamp, Trust,
};
use sanare_store::Sqlite;

fn reading(id: &str, number: f64) -> Observation {
    let application = Application::parse("fraud").unwrap();
    let draft = Draft::new(application, Signal::parse("p99").unwrap(), ObservedValue::metric(number));
    let at = Moment::parse("2026-11-30T12:00:00Z").unwrap();
    let draft = Draft { event_time: Some(at), source_id: Some(id.to_owned()), ..draft };
    let stamp = Stamp {
        id: Id::from_text(format!("obs_{id}_{number}")),
        arrival: at,
        source: Source::parse("client").unwrap(),
        trust: Trust::Own,
    };
    Observation::accept(draft, stamp).unwrap()
}

/// Sixteen writers, each with two hundred groups of ten; every tenth group has a reading that another writer's group of
/// that number contradicts: of those two one is stored whole, the other not at all, and nobody else is touched.
#[test]
fn what_conflicts_is_answered_alone_and_everything_else_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Sqlite::open(&path).unwrap();
    let group = |writer: usize, number: usize| -> Vec<Observation> {
        let mut all: Vec<Observation> =
            (0..10).map(|place| reading(&format!("{writer}-{number}-{place}"), place as f64)).collect();
        if number.is_multiple_of(10) {
            all[7] = reading(&format!("shared-{}-{number}", writer / 2), writer as f64);
        }
        all
    };
    let answers: Vec<(usize, usize, Result<(), NotMade>)> = std::thread::scope(|scope| {
        let write = |writer: usize| {
            let store = &store;
            let all = (0..200).map(move |number| {
                let change = Change { observations: group(writer, number), now: 1, ..Change::default() };
                (writer, number, store.commit(&change).map(drop))
            });
            all.collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..16).map(|writer| scope.spawn(move || write(writer))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    drop(store);
    let store = Sqlite::open_existing(&path).unwrap().unwrap();
    let mut stored = 0;
    for (writer, number, answer) in &answers {
        let ids: Vec<Id> = group(*writer, *number).iter().map(|one| one.id.clone()).collect();
        let there = store.observations(&ids).unwrap().len();
        match answer {
            Ok(()) => assert_eq!(there, 10, "{writer} {number}"),
            Err(NotMade::Conflict(id)) => {
                assert_eq!((there, id.as_str()), (0, format!("shared-{}-{number}", writer / 2).as_str()));
            }
            Err(other) => panic!("{other}"),
        }
        stored += there;
    }
    let refused = answers.iter().filter(|(_, _, answer)| answer.is_err()).count();
    assert_eq!((refused, stored), (8 * 20, (16 * 200 - 8 * 20) * 10));
    let recent = store.recent(&Application::parse("fraud").unwrap(), 100_000).unwrap();
    assert_eq!(recent.len(), stored);
    assert!(recent.is_sorted_by(|one, next| one.sequence < next.sequence));
}

/// The same again is no conflict, within a change and after it.
#[test]
fn the_same_twice_is_stored_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&folder.path().join("store.db")).unwrap();
    let change = Change { observations: vec![reading("a", 1.0), reading("a", 1.0)], now: 1, ..Change::default() };
    store.commit(&change).unwrap();
    store.commit(&change).unwrap();
    assert_eq!(store.recent(&Application::parse("fraud").unwrap(), 10).unwrap().len(), 1);
}
