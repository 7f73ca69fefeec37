//! What every store does, the one on disk and the one in memory alike.

use sanare_core::model::budget::{Cost, DAY, HOUR, Limits};
use sanare_core::port::Store;
use sanare_core::port::StoreFault;
use sanare_core::port::scripted::ScriptedSeal;
use sanare_core::port::store::{Bucket, Leave, ModelCall, ReceiptChange, Rest};
use sanare_core::receipt::ReceiptState;
use sanare_store::{Memory, SHAPE_BYTES, Sqlite};
use serde_json::json;

use super::{entry, incident, plain, receipt};

/// Runs one clause of the contract on an empty store of each sort, and on the one on disk again after it was reopened.
fn check(clause: fn(&dyn Store), afterwards: fn(&dyn Store)) {
    let memory = Memory::new();
    clause(&memory);
    afterwards(&memory);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".sanare").join("store.db");
    let key = || std::sync::Arc::new(ScriptedSeal("key"));
    let sqlite = Sqlite::open(&path).unwrap().sealed_by(key());
    clause(&sqlite);
    afterwards(&sqlite);
    drop(sqlite);
    let again = Sqlite::open_existing(&path).unwrap().expect("the store is still there").sealed_by(key());
    afterwards(&again);
    again.verify().unwrap().expect("the chain holds after reopening");
}

#[test]
fn an_empty_store_has_nothing_and_verifies() {
    let clause = |store: &dyn Store| {
        assert_eq!(store.verify().unwrap(), Ok(0));
        assert_eq!(store.incidents(10).unwrap(), []);
        assert_eq!(store.unfinished().unwrap(), []);
        assert_eq!(store.records(&incident("a")).unwrap(), []);
        assert_eq!(store.receipt(&incident("a")).unwrap(), None);
        assert_eq!(store.shapes("f").unwrap(), Vec::<String>::new());
        assert_eq!(store.rest("f").unwrap(), Rest::default());
    };
    check(clause, clause);
}

#[test]
fn records_are_chained_in_order_over_all_incidents() {
    check(
        |store| {
            let first = store.append(&entry("a", "opened", &json!({"z": 1, "a": [true, null, "é"]}))).unwrap();
            let second = store.append(&plain("b", "opened")).unwrap();
            let third = store.append(&plain("a", "evident")).unwrap();
            assert_eq!((first.seq, second.seq, third.seq), (1, 2, 3));
            assert_eq!((&second.previous, &third.previous), (&first.hash, &second.hash));
            assert_eq!(store.records(&incident("a")).unwrap(), [first, third]);
        },
        |store| {
            let records = store.records(&incident("a")).unwrap();
            assert_eq!(records[0].payload, r#"{"a":[true,null,"é"],"z":1}"#);
            assert_eq!(records[0].hash, records[0].expected_hash());
            assert_eq!(store.verify().unwrap(), Ok(3));
        },
    );
}

#[test]
fn incidents_stand_by_their_last_step_and_notes_do_not_move_them() {
    check(
        |store| {
            for (name, steps) in [
                ("closed", ["opened", "closed"].as_slice()),
                ("waiting", &["opened", "waiting"]),
                ("prepared", &["opened", "prepared"]),
                ("undoing", &["opened", "undoing"]),
                ("noted", &["opened", "closed", "evidence", "gate", "settled"]),
                ("approved", &["opened", "waiting", "approved"]),
            ] {
                for step in steps {
                    store.append(&plain(name, step)).unwrap();
                }
            }
            store.append(&entry("applied", "applied", &json!({"standing": null}))).unwrap();
            store.append(&entry("standing", "applied", &json!({"standing": {"reason": "unconfirmed"}}))).unwrap();
        },
        |store| {
            let names = ["prepared", "undoing", "approved", "applied"].map(incident);
            assert_eq!(store.unfinished().unwrap(), names);
            let newest = ["standing", "applied", "approved"].map(incident);
            assert_eq!(store.incidents(3).unwrap(), newest);
            assert_eq!(store.incidents(usize::MAX).unwrap().len(), 8);
        },
    );
}

#[test]
fn receipts_are_kept_byte_for_byte_and_settled_with_their_record() {
    check(
        |store| {
            store.append_with_receipt(&plain("a", "prepared"), &receipt("a", ReceiptState::Open)).unwrap();
            store.append_with_receipt(&plain("b", "prepared"), &receipt("b", ReceiptState::Open)).unwrap();
            assert_eq!(store.receipts(ReceiptState::Open).unwrap().len(), 2);
            store.append_and_settle(&plain("a", "closed"), ReceiptState::Done).unwrap();
        },
        |store| {
            assert_eq!(store.receipt(&incident("a")).unwrap(), Some(receipt("a", ReceiptState::Done)));
            assert_eq!(store.receipts(ReceiptState::Open).unwrap(), [receipt("b", ReceiptState::Open)]);
            let done = receipt("a", ReceiptState::Done);
            assert_eq!(
                store.receipts_of_function(&done.path, &done.function).unwrap(),
                [receipt("a", ReceiptState::Done)]
            );
            assert_eq!(store.receipts_of_function(&done.path, "another").unwrap(), []);
            assert_eq!(store.receipts_of_function("another.py", &done.function).unwrap(), []);
            assert_eq!(store.verify().unwrap(), Ok(3));
        },
    );
}

#[test]
fn a_second_receipt_of_an_incident_is_the_one_that_counts_and_the_first_stays() {
    check(
        |store| {
            store.append_with_receipt(&plain("a", "prepared"), &receipt("a", ReceiptState::Open)).unwrap();
            store.append_and_settle(&plain("a", "undoing"), ReceiptState::Undone).unwrap();
            let mut second = receipt("a", ReceiptState::Open);
            second.replacement = b"another".to_vec();
            store.append_with_receipt(&plain("a", "prepared"), &second).unwrap();
            store.append_and_settle(&plain("a", "closed"), ReceiptState::Done).unwrap();
        },
        |store| {
            assert_eq!(store.receipt(&incident("a")).unwrap().unwrap().replacement, b"another");
            assert_eq!(store.receipts(ReceiptState::Undone).unwrap(), [receipt("a", ReceiptState::Undone)]);
            assert_eq!(store.receipts(ReceiptState::Done).unwrap().len(), 1);
        },
    );
}

#[test]
fn settling_without_a_receipt_still_records() {
    check(
        |store| drop(store.append_and_settle(&plain("a", "closed"), ReceiptState::Undone).unwrap()),
        |store| assert_eq!(store.records(&incident("a")).unwrap().len(), 1),
    );
}

#[test]
fn shapes_are_distinct_newest_first_and_few() {
    check(
        |store| {
            for number in 0..10 {
                store.remember_shape("m.f", &format!("shape {number}"), number, 8).unwrap();
                store.remember_shape("m.h", &format!("shape {number}"), number, 8).unwrap();
            }
            store.remember_shape("m.f", "shape 4", 99, 8).unwrap();
            store.remember_shape("m.g", "other", 1, 8).unwrap();
            // Fewer are wanted by now.
            store.remember_shape("m.h", "shape 3", 99, 2).unwrap();
        },
        |store| {
            let numbers = [4, 9, 8, 7, 6, 5, 3, 2];
            assert_eq!(store.shapes("m.f").unwrap(), numbers.map(|number| format!("shape {number}")));
            assert_eq!(store.shapes("m.g").unwrap(), ["other"]);
            assert_eq!(store.shapes("m.h").unwrap(), ["shape 3", "shape 9"]);
        },
    );
}

#[test]
fn shapes_of_a_function_stay_within_their_bytes() {
    check(
        |store| {
            store.remember_shape("f", &"a".repeat(SHAPE_BYTES / 2), 1, 8).unwrap();
            store.remember_shape("f", &"b".repeat(SHAPE_BYTES / 4), 2, 8).unwrap();
            store.remember_shape("f", &"é".repeat(SHAPE_BYTES / 4), 3, 8).unwrap();
            store.remember_shape("g", "small", 1, 8).unwrap();
            store.remember_shape("g", &"c".repeat(SHAPE_BYTES + 1), 2, 8).unwrap();
        },
        |store| {
            let kept: Vec<usize> = store.shapes("f").unwrap().iter().map(String::len).collect();
            assert_eq!(kept, [SHAPE_BYTES / 2, SHAPE_BYTES / 4]);
            assert!(store.shapes("g").unwrap().iter().all(|shape| shape.len() < SHAPE_BYTES));
        },
    );
}

#[test]
fn calls_are_kept_newest_first_few_equal_ones_once_and_none_too_old() {
    check(
        |store| {
            for (at, call) in [(1, "old"), (10, "a"), (11, "b"), (12, "a"), (13, "c")] {
                store.remember_call("f", call.as_bytes(), at, 3, at.saturating_sub(5)).unwrap();
            }
            store.remember_call("g", b"other", 13, 3, 0).unwrap();
            store.remember_shape("f", "shape", 13, 8).unwrap();
            assert_eq!(store.calls("f", 0).unwrap(), [b"c", b"a", b"b"]);
            assert_eq!(store.calls("f", 12).unwrap(), [b"c", b"a"]);
            assert_eq!(store.forget(Some("f")).unwrap(), 4);
            assert!(store.calls("f", 0).unwrap().is_empty());
            store.remember_call("h", b"\xff\x00", 14, 1, 0).unwrap();
            store.remember_call("h", b"second", 15, 1, 0).unwrap();
        },
        |store| {
            assert_eq!(store.calls("g", 0).unwrap(), [b"other"]);
            assert_eq!(store.calls("h", 0).unwrap(), [b"second"]);
        },
    );
}

#[test]
fn shapes_are_forgotten_by_function_or_all() {
    check(
        |store| {
            for function in ["f", "f", "g", "h"] {
                store.remember_shape(function, "one", 1, 8).unwrap();
            }
            store.remember_shape("f", "two", 2, 8).unwrap();
            assert_eq!(store.forget(Some("f")).unwrap(), 2);
            assert_eq!(store.forget(Some("nobody")).unwrap(), 0);
            assert_eq!(store.shapes("g").unwrap(), ["one"]);
            assert_eq!(store.forget(None).unwrap(), 2);
        },
        |store| assert_eq!(store.shapes("g").unwrap(), Vec::<String>::new()),
    );
}

#[test]
fn a_lease_has_one_holder_and_its_fence_only_grows() {
    check(
        |store| {
            let first = store.take_lease("k", "a", 1_000, 500).unwrap().unwrap();
            assert_eq!((first.fence, first.until), (1, 1_500));
            assert_eq!(store.take_lease("k", "b", 1_499, 500).unwrap(), None);
            assert_eq!(store.take_lease("other", "b", 1_499, 500).unwrap().unwrap().fence, 1);

            let renewed = store.take_lease("k", "a", 1_400, 500).unwrap().unwrap();
            assert_eq!((renewed.fence, renewed.until), (1, 1_900));

            let second = store.take_lease("k", "b", 1_900, 500).unwrap().unwrap();
            assert_eq!(second.fence, 2);
            store.give_back(&renewed).unwrap();
            assert_eq!(store.take_lease("k", "a", 2_000, 500).unwrap(), None, "an old lease frees nothing");

            store.give_back(&second).unwrap();
            assert_eq!(store.take_lease("k", "a", 2_000, 500).unwrap().unwrap().fence, 3);
            assert_eq!(store.take_lease("k", "a", 9_000, 500).unwrap().unwrap().fence, 4, "expired: taken anew");
        },
        |store| assert_eq!(store.take_lease("k", "b", 9_100, 500).unwrap(), None),
    );
}

#[test]
fn rests_are_kept() {
    const REST: Rest = Rest { until: 1_700_000_600_000, times: 2, occurrences: 40 };
    check(
        |store| {
            store.set_rest("abc", &Rest { until: 5, times: 1, occurrences: 1 }).unwrap();
            store.set_rest("abc", &REST).unwrap();
        },
        |store| {
            assert_eq!(store.rest("abc").unwrap(), REST);
            assert_eq!(store.rest("abd").unwrap(), Rest::default());
        },
    );
}

#[test]
fn threads_of_one_process_share_a_store() {
    check(
        |store| {
            std::thread::scope(|scope| {
                for thread in 0..8 {
                    scope.spawn(move || {
                        for _ in 0..25 {
                            store.append(&plain(&format!("{thread}"), "gate")).unwrap();
                        }
                    });
                }
            });
        },
        |store| {
            assert_eq!(store.verify().unwrap(), Ok(200));
            assert_eq!(store.records(&incident("3")).unwrap().len(), 25);
        },
    );
}

#[test]
fn what_is_written_under_a_lost_lease_is_refused() {
    check(
        |store| {
            let at = plain("a", "opened").at;
            let lease = store.take_lease("k", "a", at, 30_000).unwrap().unwrap();
            assert_eq!(store.lease_of("k").unwrap(), Some(("a".to_owned(), lease.clone())));
            assert!(store.holds(&lease, at + 29_999).unwrap());
            store.append_leased(&plain("a", "opened"), ReceiptChange::None, &lease).unwrap();
            let open = receipt("a", ReceiptState::Open);
            store.append_leased(&plain("a", "prepared"), ReceiptChange::Keep(&open), &lease).unwrap();
            assert!(store.renew_lease(&lease, at + 29_000, 30_000).unwrap());
            assert!(store.holds(&lease, at + 58_999).unwrap(), "renewed");
            assert!(!store.holds(&lease, at + 59_000).unwrap(), "run out");
            assert!(!store.renew_lease(&lease, at + 59_000, 30_000).unwrap(), "what ran out is not renewed");
            let next = store.take_lease("k", "b", at + 60_000, 30_000).unwrap().unwrap();
            assert_eq!(next.fence, lease.fence + 1);
            let mut late = plain("a", "closed");
            late.at = at + 60_001;
            let refused = store.append_leased(&late, ReceiptChange::Settle(ReceiptState::Done), &lease);
            assert_eq!(refused, Err(StoreFault::LeaseLost));
            // The clock of the one before may be behind: the fence alone refuses it as well.
            let refused = store.append_leased(&plain("a", "closed"), ReceiptChange::None, &lease);
            assert_eq!(refused, Err(StoreFault::LeaseLost));
            store.give_back(&next).unwrap();
            assert_eq!(store.lease_of("k").unwrap(), None);
            assert!(!store.holds(&next, at).unwrap());
        },
        |store| {
            let steps: Vec<String> =
                store.records(&incident("a")).unwrap().into_iter().map(|record| record.step).collect();
            assert_eq!(steps, ["opened", "prepared"]);
            assert_eq!(store.receipt(&incident("a")).unwrap().unwrap().state, ReceiptState::Open);
        },
    );
}

#[test]
fn a_lease_from_a_clock_that_was_set_back_does_not_block() {
    check(
        |store| {
            let ahead = store.take_lease("k", "a", 9_000_000, 500).unwrap().unwrap();
            let taken = store.take_lease("k", "b", 1_000, 500).unwrap().unwrap();
            assert_eq!(taken.fence, ahead.fence + 1);
            // Who asks late may have looked at the clock before the holder did.
            assert_eq!(store.take_lease("k", "c", 990, 500).unwrap(), None);
        },
        |_| (),
    );
}

#[test]
fn repairs_of_a_code_are_found_newest_first() {
    check(
        |store| {
            for (name, state) in [
                ("one", ReceiptState::Done),
                ("two", ReceiptState::Undone),
                ("three", ReceiptState::Open),
                ("four", ReceiptState::Planned),
            ] {
                let mut receipt = receipt(name, state);
                receipt.code = "same".to_owned();
                store.append_with_receipt(&plain(name, "prepared"), &receipt).unwrap();
            }
            store.append_with_receipt(&plain("other", "prepared"), &receipt("other", ReceiptState::Done)).unwrap();
        },
        |store| {
            let found = store.receipts_of_code("same").unwrap();
            let names: Vec<&str> = found.iter().map(|receipt| receipt.incident.as_str()).collect();
            assert_eq!(names, ["inc_three", "inc_one"]);
            assert_eq!(found[0].text, receipt("x", ReceiptState::Open).text);
        },
    );
}

#[test]
fn a_budget_slides_and_no_clock_refills_it() {
    fn bucket(name: &str, limit: u64) -> Bucket {
        Bucket { name: name.to_owned(), window: 1_000, limit, units: 1 }
    }
    check(
        |store| {
            let both = [bucket("wide", 10), bucket("narrow", 2)];
            assert_eq!(store.spend(&both, 5_000).unwrap(), None);
            assert_eq!(store.spend(&both, 5_500).unwrap(), None);
            assert_eq!(store.spend(&both, 5_600).unwrap(), Some("narrow".to_owned()));
            assert_eq!(store.spend(&both, 100).unwrap(), Some("narrow".to_owned()), "set back");
            assert_eq!(store.spent(&[bucket("wide", 3)], 5_600).unwrap(), None, "a refused one takes nothing");
            assert_eq!(store.spend(&both, 6_000).unwrap(), None, "the first is out of the window");
            assert_eq!(store.spend(&both, 6_400).unwrap(), Some("narrow".to_owned()));
        },
        |store| {
            assert_eq!(store.spent(&[bucket("narrow", 2)], 6_400).unwrap(), Some("narrow".to_owned()));
            assert_eq!(store.spent(&[bucket("narrow", 2)], 0).unwrap(), Some("narrow".to_owned()));
            assert_eq!(store.spent(&[bucket("narrow", 2)], 6_600).unwrap(), None);
        },
    );
}

#[test]
fn units_that_were_set_aside_are_settled_by_what_was_used() {
    const LIMIT: u64 = 20;
    fn bucket(units: u64) -> Bucket {
        Bucket { name: "tokens".to_owned(), window: 1_000, limit: LIMIT, units }
    }
    check(
        |store| {
            let takes = |units: u64, at: u64| store.spend(&[bucket(units)], at).unwrap().is_none();
            assert!(!takes(LIMIT + 1, 5_000) && takes(12, 5_000) && !takes(9, 5_001));
            // A large and then a small one: the sum is what counts.
            assert!(takes(8, 5_002) && !takes(1, 5_003));
            store.settle_units(&bucket(12), 5_000, 2).unwrap();
            assert!(!takes(11, 5_004) && takes(10, 5_004) && !takes(1, 5_005));
            // The first has come to two units, and those are free after its window.
            assert!(!takes(3, 6_001) && takes(2, 6_001));
            // What was used beyond that counts too.
            store.settle_units(&bucket(2), 6_001, 5).unwrap();
            assert!(!takes(6, 6_002) && takes(5, 6_002) && !takes(1, 6_003));
            store.settle_units(&bucket(5), 6_002, 0).unwrap();
        },
        |store| {
            // 10 are over by then, 5 are not.
            assert!(store.spent(&[bucket(16)], 7_000).unwrap().is_some());
            assert!(store.spent(&[bucket(15)], 7_000).unwrap().is_none());
        },
    );
}

#[test]
fn occurrences_of_a_rest_are_counted() {
    check(
        |store| {
            store.set_rest("f", &Rest { until: 5, times: 2, occurrences: 1 }).unwrap();
            store.count_occurrence("f").unwrap();
            store.count_occurrence("nothing rests here").unwrap();
        },
        |store| {
            assert_eq!(store.rest("f").unwrap(), Rest { until: 5, times: 2, occurrences: 2 });
            assert_eq!(store.rest("nothing rests here").unwrap(), Rest::default());
        },
    );
}

#[test]
fn calls_to_models_are_counted_in_windows_and_settled() {
    check(
        |store| {
            let limits = Limits {
                calls_per_incident: 2,
                calls_per_hour: 3,
                tokens_per_incident: 1_000,
                tokens_per_day: 1_000,
                money_per_day: None,
            };
            let begin = |incident: &str, at: u64| {
                let call = ModelCall { incident: incident.to_owned(), at, most: Cost { tokens: 300, money: 1 } };
                store.begin_model_call(&call, &limits).unwrap()
            };
            let spent = |key: &str| Leave::Spent(format!("heal.model.{key}"));
            let now = 100 * DAY;
            let Leave::Granted(first) = begin("a", now) else { panic!("the first call is refused") };
            assert!(matches!(begin("a", now + 1), Leave::Granted(_)));
            assert_eq!(begin("a", now + 2), spent("calls_per_incident"));
            assert!(matches!(begin("b", now + 3), Leave::Granted(_)));
            assert_eq!(begin("c", now + 4), spent("calls_per_hour"));
            // An hour later calls are free again, tokens are not until what was called is settled.
            assert_eq!(begin("c", now + HOUR + 5), spent("tokens_per_day"));
            store.settle_model_call(first, Cost { tokens: 50, money: 0 }).unwrap();
            assert!(matches!(begin("c", now + HOUR + 6), Leave::Granted(_)));
            // A clock that was set back gives nothing back.
            assert_eq!(begin("d", now - HOUR), spent("calls_per_hour"));
        },
        |_| {},
    );
}
