//! Chains of the ledger, what is erased and what is pruned, on disk and in memory alike (S116, S119).

use rusqlite::Connection;
use sanare_core::hash::Digest;
use sanare_core::ledger::{Entry, Record, SYSTEM};
use sanare_core::port::{Erased, Keeper, NotErased, Store};
use sanare_core::service::{Application, Change, IncidentKind, ServiceStore};
use sanare_store::{Memory, Sqlite};
use serde_json::json;

use super::services::{at, closed, incident, reading};
use super::{entry, plain};

/// Everything that a store is.
trait Whole: Store + ServiceStore + Keeper {}
impl<T: Store + ServiceStore + Keeper> Whole for T {}

fn check(clause: fn(&dyn Whole)) {
    clause(&Memory::new());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let sqlite = Sqlite::open(&path).unwrap();
    clause(&sqlite);
    let count = Store::verify(&sqlite).unwrap().unwrap();
    drop(sqlite);
    let again = Sqlite::open(&path).unwrap();
    assert_eq!(Store::verify(&again).unwrap(), Ok(count));
}

/// An entry of a service's incident; the one that opens it names the application.
fn of(name: &str, step: &str, payload: &serde_json::Value) -> Change {
    Change { now: at(0).millis(), entries: vec![entry(name, step, payload)], ..Change::default() }
}

fn opened(application: &str) -> serde_json::Value {
    json!({ "incident": { "application": application }, "said": format!("{application} is ill") })
}

fn told(record: &Record) -> String {
    format!("{} {}/{} {} {}", record.seq, record.chain, record.place, record.step, record.by)
}

fn all(store: &dyn Whole) -> Vec<String> {
    store.ledger_after(0, 1_000).unwrap().iter().map(told).collect()
}

#[test]
fn each_application_has_a_chain_and_everything_else_the_systems() {
    check(|store| {
        store.append(&plain("code", "opened")).unwrap();
        store.commit(&of("a", "opened", &opened("fraud"))).unwrap();
        store.commit(&of("b", "opened", &opened("churn"))).unwrap();
        store.commit(&of("a", "evident", &json!({}))).unwrap();
        store.commit(&of("a", "held", &json!({ "by": { "name": "ann" } }))).unwrap();
        store.chain(&entry("stp", "stopped", &json!({ "application": "churn", "by": "bob" }))).unwrap();
        store.chain(&entry("exp", "exported", &json!({ "by": "ann" }))).unwrap();
        let expected = [
            "1 @system/1 opened sanare",
            "2 fraud/1 opened sanare",
            "3 churn/1 opened sanare",
            "4 fraud/2 evident sanare",
            "5 fraud/3 held ann",
            "6 churn/2 stopped bob",
            "7 @system/2 exported ann",
        ];
        assert_eq!(all(store), expected);
        let records = store.ledger_after(0, 10).unwrap();
        assert_eq!(records[3].previous, records[1].hash, "fraud's second names its first");
        let heads: Vec<String> =
            store.heads().unwrap().iter().map(|head| format!("{} {}", head.chain, head.place)).collect();
        assert_eq!(heads, ["@system 2", "churn 2", "fraud 3"]);
        assert_eq!(store.hash_at("fraud", 2).unwrap().as_ref(), Some(&records[3].hash));
        assert_eq!(Store::verify(store).unwrap(), Ok(7));
    });
}

/// Erases until nothing is left: payloads and rows.
fn erased(store: &dyn Whole, application: &str) -> (u64, u64) {
    let (mut payloads, mut rows) = (0, 0);
    for _ in 0..1_000 {
        let gone = store.erase_some(application, 7).unwrap();
        if gone == Erased::default() {
            return (payloads, rows);
        }
        (payloads, rows) = (payloads + gone.payloads, rows + gone.rows);
    }
    panic!("it has no end");
}

#[test]
fn what_is_erased_leaves_its_place_and_a_tombstone() {
    check(|store| {
        let open = incident("a", IncidentKind::LatencyHigh);
        let readings = vec![reading("one", 1.0)];
        store
            .commit(&Change {
                incidents: vec![open.clone()],
                observations: readings,
                ..of("a", "opened", &opened("fraud"))
            })
            .unwrap();
        store.commit(&of("b", "opened", &opened("churn"))).unwrap();
        let tombstone = entry("era", "erasing", &json!({ "of": "fraud", "by": "ann", "reason": "asked for" }));
        let told_of = entry("era", "erased", &json!({ "of": "fraud", "by": "ann", "reason": "asked for" }));
        // What goes on is needed, and what nobody knows is said so.
        assert_eq!(store.begin_erasing("fraud", &tombstone), Err(NotErased::Needed("inc_a".to_owned())));
        assert_eq!(store.begin_erasing("nobody", &tombstone), Err(NotErased::Unknown("nobody".to_owned())));
        assert_eq!(store.erase_some("fraud", 10), Err(NotErased::Unfinished("fraud".to_owned())), "it was not begun");
        store
            .commit(&Change { incidents: vec![closed(open)], ..of("a", "closed", &json!({ "why": "over" })) })
            .unwrap();
        assert_eq!(store.begin_erasing("fraud", &tombstone), Ok(0));
        assert_eq!(store.end_erasing("fraud", &told_of), Err(NotErased::Unfinished("fraud".to_owned())));
        assert_eq!(Store::verify(store).unwrap(), Ok(4), "it holds at each moment");
        let (payloads, rows) = erased(store, "fraud");
        assert!(payloads == 2 && rows >= 2, "{payloads} {rows}");
        assert_eq!(Store::verify(store).unwrap(), Ok(4), "the tombstone is there before all of it is gone");
        assert_eq!(told(&store.end_erasing("fraud", &told_of).unwrap()), "5 @system/2 erased ann");
        let records = store.ledger_after(0, 10).unwrap();
        let left: Vec<bool> = records.iter().map(|record| record.payload.is_empty()).collect();
        assert_eq!(left, [true, false, true, false, false]);
        assert_eq!(Store::verify(store).unwrap(), Ok(5));
        assert_eq!(store.newest_incidents(10).unwrap(), []);
        assert_eq!(store.recent(&Application::parse("fraud").unwrap(), 10).unwrap(), []);
        // Places are never given twice, and the chain goes on.
        assert_eq!(store.newest_sequence().unwrap(), 1);
        store.commit(&of("c", "opened", &opened("fraud"))).unwrap();
        assert_eq!(all(store).last().unwrap(), "6 fraud/3 opened sanare");
        assert_eq!(Store::verify(store).unwrap(), Ok(6));
    });
}

#[test]
fn a_segment_is_pruned_up_to_what_is_needed_and_its_hash_stays() {
    check(|store| {
        let open = incident("a", IncidentKind::LatencyHigh);
        let early = |name: &str, step: &str| Entry { at: 1_000, ..entry(name, step, &opened("fraud")) };
        let change = |entries: Vec<Entry>| Change { now: 1, entries, ..Change::default() };
        store.commit(&change(vec![early("x", "opened"), early("x", "closed"), early("y", "opened")])).unwrap();
        store
            .commit(&Change { incidents: vec![open], ..change(vec![early("a", "opened"), early("a", "evident")]) })
            .unwrap();
        store.commit(&of("z", "opened", &opened("fraud"))).unwrap();
        let note = entry("prn", "pruned", &json!({ "by": "ann", "reason": "old" }));
        assert_eq!(store.prune("fraud", 999, &note).unwrap(), None, "nothing is so old");
        assert_eq!(store.prune("nobody", u64::MAX, &note).unwrap(), None);
        let seal = store.prune("fraud", 1_700_000_000_000, &note).unwrap().expect("three records are old and over");
        assert_eq!((seal.head.place, seal.record), (3, 1), "an open incident's records stay");
        assert_eq!(all(store)[0], "4 fraud/4 opened sanare");
        assert_eq!(Store::verify(store).unwrap(), Ok(4));
        assert_eq!(store.seals().unwrap(), std::slice::from_ref(&seal));
        assert_eq!(store.ledger_after(0, 1).unwrap()[0].previous, seal.head.hash);
        // Again is nothing, and the newest of a chain never goes.
        assert_eq!(store.prune("fraud", 1_700_000_000_000, &note).unwrap(), None);
        assert_eq!(store.prune(SYSTEM, u64::MAX, &note).unwrap(), None);
    });
}

/// A store with two chains, altered behind the triggers' back: what is said of it.
fn after(statements: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Sqlite::open(&path).unwrap();
    for (name, step, application) in [
        ("a", "opened", "fraud"),
        ("b", "opened", "churn"),
        ("a", "evident", "fraud"),
        ("b", "evident", "churn"),
        ("a", "closed", "fraud"),
    ] {
        store.commit(&of(name, step, &opened(application))).unwrap();
    }
    drop(store);
    let free = "DROP TRIGGER ledger_keeps_rows; DROP TRIGGER ledger_keeps_content;";
    Connection::open(&path).unwrap().execute_batch(&format!("{free} {statements}")).unwrap();
    match Sqlite::open(&path).and_then(|store| Store::verify(&store)) {
        Err(fault) => fault.to_string(),
        Ok(Err(found)) => format!("{}: {}", found.seq, found.what),
        Ok(Ok(count)) => format!("{count} records hold"),
    }
}

#[test]
fn what_was_done_to_two_chains_is_found() {
    let check = |statements: &str, expected: &str| assert_eq!(after(statements), expected, "{statements}");
    let copy = |seq: u32, into: &str| {
        format!(
            "INSERT INTO ledger SELECT {into}, format, incident, step, at, payload, previous, hash, chain, 9, by, body FROM ledger WHERE seq = {seq};"
        )
    };
    check("", "5 records hold");
    // One byte changed.
    check(
        "UPDATE ledger SET payload = replace(payload, 'ill', 'ull') WHERE seq = 3",
        "3: its content is another than the one that was written",
    );
    check("UPDATE ledger SET at = at + 1 WHERE seq = 3", "3: its hash does not fit its content");
    // A row removed: in the middle, a chain's first, a whole chain.
    check("DELETE FROM ledger WHERE seq = 3", "4: its place does not follow the record before it");
    check("DELETE FROM ledger WHERE seq = 1", "2: its place does not follow the record before it");
    check("DELETE FROM ledger WHERE chain = 'churn'", "3: its place does not follow the record before it");
    check(
        "DELETE FROM ledger WHERE chain = 'churn'; UPDATE ledger SET seq = 2 WHERE seq = 3; UPDATE ledger SET seq = 5 WHERE seq = 5",
        "2: its hash does not fit its content",
    );
    // Swapped, within a chain and between two.
    check(
        "UPDATE ledger SET seq = 9 WHERE seq = 1; UPDATE ledger SET seq = 1 WHERE seq = 3; UPDATE ledger SET seq = 3 WHERE seq = 9",
        "1: it does not name the hash of the record before it of `fraud`",
    );
    check(
        "UPDATE ledger SET seq = 9 WHERE seq = 3; UPDATE ledger SET seq = 3 WHERE seq = 4; UPDATE ledger SET seq = 4 WHERE seq = 9",
        "3: its hash does not fit its content",
    );
    // Inserted.
    check(&copy(5, "6"), "6: it does not name the hash of the record before it of `fraud`");
    // Two chains mixed.
    check(
        "UPDATE ledger SET chain = 'x', place = place + 10 WHERE chain = 'churn'; UPDATE ledger SET chain = 'churn' WHERE chain = 'fraud';
         UPDATE ledger SET chain = 'fraud', place = place - 10 WHERE chain = 'x'",
        "1: its hash does not fit its content",
    );
    check(
        "UPDATE ledger SET chain = 'churn', place = 3 WHERE seq = 5",
        "5: it does not name the hash of the record before it of `churn`",
    );
    // A payload that is gone without a tombstone, and a tombstone that nobody wrote.
    check(
        "UPDATE ledger SET payload = '' WHERE seq = 3",
        "3: its content is gone, and no record says that it was erased",
    );
    check(
        "UPDATE ledger SET payload = '' WHERE seq = 3; INSERT INTO ledger_erasures (chain, upto, record) VALUES ('fraud', 3, 1)",
        "5: record 1 of the system's chain, which tells what was erased, is not there",
    );
    // Rows cut from the front, and a seal that nobody wrote.
    check(
        "INSERT INTO ledger_seals (chain, place, hash, record) SELECT chain, place, hash, 1 FROM ledger WHERE seq = 1; DELETE FROM ledger WHERE seq = 1",
        "5: record 1 of the system's chain, which tells what was pruned, is not there",
    );
}

#[test]
fn statements_take_out_nothing_that_no_tombstone_or_seal_covers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Sqlite::open(&path).unwrap();
    store.commit(&of("a", "opened", &opened("fraud"))).unwrap();
    store.commit(&of("a", "closed", &json!({ "why": "over" }))).unwrap();
    let connection = Connection::open(&path).unwrap();
    let refused = |statement: &str| {
        let error = connection.execute_batch(statement).expect_err(statement).to_string();
        assert!(error.contains("append-only"), "{statement}: {error}");
    };
    refused("UPDATE ledger SET payload = '' WHERE seq = 1");
    refused("DELETE FROM ledger WHERE seq = 1");
    store.begin_erasing("fraud", &entry("era", "erasing", &json!({ "of": "fraud" }))).unwrap();
    erased(&store, "fraud");
    store.end_erasing("fraud", &entry("era", "erased", &json!({ "of": "fraud" }))).unwrap();
    refused("UPDATE ledger SET payload = '{}' WHERE seq = 1");
    refused("UPDATE ledger SET payload = '', at = 1 WHERE seq = 1");
    refused("DELETE FROM ledger WHERE seq = 1");
    // Nothing of it is left in the file either.
    drop((store, connection));
    let store = Sqlite::open(&path).unwrap();
    drop(store);
    let bytes = std::fs::read(&path).unwrap();
    assert!(!bytes.windows(12).any(|window| window == b"fraud is ill"), "the erased text is in the file");
}

/// The migrations as they were then, and three records hashed as they were then.
pub(super) fn of_format_7(path: &std::path::Path) {
    let connection = Connection::open(path).unwrap();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/sqlite/migrations");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    for file in &files[..7] {
        connection.execute_batch(&std::fs::read_to_string(file).unwrap()).unwrap();
    }
    connection.execute_batch("PRAGMA application_id = 1398894177; PRAGMA user_version = 7").unwrap();
    let mut previous = "0".repeat(64);
    for (seq, step, payload) in
        [(1_u64, "opened", opened("fraud").to_string()), (2, "evident", "{}".to_owned()), (3, "held", "{}".to_owned())]
    {
        let parts: [&[u8]; 8] = [
            b"sanare-ledger-1",
            &1_u32.to_be_bytes(),
            &seq.to_be_bytes(),
            b"inc_old",
            step.as_bytes(),
            &7_u64.to_be_bytes(),
            payload.as_bytes(),
            previous.as_bytes(),
        ];
        let hash = Digest::of_parts(&parts).as_str().to_owned();
        let row = rusqlite::params![seq as i64, step, payload, previous, hash];
        connection.execute("INSERT INTO ledger VALUES (?1, 1, 'inc_old', ?2, 7, ?3, ?4, ?5)", row).unwrap();
        previous = hash;
    }
}

/// A store with one chain, as it was before this format: it goes on as the system's, and stays verifiable.
#[test]
fn one_chain_of_an_older_store_is_the_beginning_of_the_systems() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    of_format_7(&path);
    assert_eq!(Sqlite::format_of(&path).unwrap(), 7);
    let store = Sqlite::open(&path).unwrap();
    assert_eq!(Store::verify(&store).unwrap(), Ok(3));
    let first = store.ledger_after(0, 1).unwrap().remove(0);
    assert_eq!((first.format, first.place, first.body.clone()), (1, 1, None));
    store.commit(&of("old", "closed", &json!({}))).unwrap();
    store.commit(&of("new", "opened", &opened("fraud"))).unwrap();
    let chains: Vec<String> = all(&store).split_off(3);
    assert_eq!(chains, ["4 @system/4 closed sanare", "5 fraud/1 opened sanare"]);
    assert_eq!(Store::verify(&store).unwrap(), Ok(5));
    drop(store);
    let free = "DROP TRIGGER ledger_keeps_content; UPDATE ledger SET payload = '[]' WHERE seq = 2";
    Connection::open(&path).unwrap().execute_batch(free).unwrap();
    let broken = Store::verify(&Sqlite::open(&path).unwrap()).unwrap().unwrap_err();
    assert_eq!((broken.seq, broken.what.as_str()), (2, "its hash does not fit its content"));
}
