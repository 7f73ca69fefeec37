//! What every store keeps so that services stay quiet and detection goes on: silences, states, the order of readings.

use sanare_core::id::Id;
use sanare_core::service::silence::{Matcher, Test};
use sanare_core::service::{Change, IncidentKind, Silence, StepName, Text};

use super::services::{at, change, check, closed, incident, opened, reading};

fn silence(name: &str, end: u64) -> Silence {
    let matchers = vec![Matcher::new("application", Test::Equals("fraud".to_owned())).unwrap()];
    let (id, author) = (Id::from_text(format!("sil_{name}")), "ann".to_owned());
    Silence {
        id,
        matchers,
        author,
        reason: Text::of("new disks"),
        start: at(0),
        end: at(end),
        all: false,
        ended_by: None,
    }
}

#[test]
fn silences_and_states_are_kept_and_replaced() {
    check(
        |store| {
            let states = |pairs: &[(&str, Option<&[u8]>)]| {
                pairs.iter().map(|(key, state)| ((*key).to_owned(), state.map(<[u8]>::to_vec))).collect::<Vec<_>>()
            };
            let first = Change {
                silences: vec![silence("a", 10), silence("b", 20)],
                states: states(&[("bank/b", Some(&[1, 0])), ("bank/a", Some(&[2])), ("weather", Some(&[3]))]),
                ..change()
            };
            store.commit(&first).unwrap();
            let ended = Silence { ended_by: Some("bob".to_owned()), ..silence("b", 5) };
            let second = Change {
                silences: vec![ended],
                states: states(&[("bank/a", None), ("bank/b", Some(&[4])), ("bank/c", None)]),
                ..change()
            };
            store.commit(&second).unwrap();
        },
        |store| {
            assert_eq!(store.silences(at(7)).unwrap(), [silence("a", 10)]);
            let all = store.silences(at(0)).unwrap();
            assert_eq!(all.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["sil_a", "sil_b"]);
            assert_eq!(all[1].ended_by.as_deref(), Some("bob"));
            assert!(store.silences(at(10)).unwrap().is_empty(), "what has ended is over");
            assert_eq!(store.states("bank/").unwrap(), [("bank/b".to_owned(), vec![4])]);
            assert_eq!(store.states("").unwrap().len(), 2);
            assert!(store.states("x").unwrap().is_empty());
        },
    );
}

#[test]
fn what_came_after_a_place_is_read_in_order() {
    check(
        |store| {
            assert_eq!(store.newest_sequence().unwrap(), 0);
            let observations = vec![reading("a", 1.0), reading("b", 2.0), reading("c", 3.0)];
            store.commit(&Change { observations, ..change() }).unwrap();
        },
        |store| {
            let after = |sequence: u64, limit: usize| {
                let found = store.observations_after(sequence, limit).unwrap();
                found.iter().map(|one| format!("{} {}", one.sequence, one.source_id)).collect::<Vec<_>>()
            };
            assert_eq!(after(0, 2), ["1 a", "2 b"]);
            assert_eq!(after(2, 10), ["3 c"]);
            assert!(after(3, 10).is_empty());
            assert_eq!(store.newest_sequence().unwrap(), 3);
        },
    );
}

#[test]
fn open_incidents_are_found_however_many_came_after_them() {
    check(
        |store| {
            opened(store, "a", IncidentKind::LatencyHigh);
            let other = opened(store, "b", IncidentKind::ErrorRateHigh);
            store.commit(&Change { incidents: vec![closed(other)], ..change() }).unwrap();
            opened(store, "c", IncidentKind::HalfAlive);
            let mut handed_over = incident("c", IncidentKind::HalfAlive);
            handed_over.step = StepName::Closed;
            store.commit(&Change { incidents: vec![handed_over], ..change() }).unwrap();
        },
        |store| {
            let open = |limit| store.open_incidents(limit).unwrap().into_iter().map(|one| one.id.to_string());
            assert_eq!(open(10).collect::<Vec<_>>(), ["inc_a", "inc_c"], "handed over is not over");
            assert_eq!(open(1).collect::<Vec<_>>(), ["inc_a"]);
        },
    );
}
