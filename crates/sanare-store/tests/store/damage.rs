//! Damaged, foreign and newer files: said clearly, and not a byte of them changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use sanare_core::port::{Keeper as _, Store as _, StoreFault};
use sanare_core::receipt::ReceiptState;
use sanare_store::Sqlite;

use super::{incident, plain, receipt};

/// A closed store with five records and a receipt.
fn filled(folder: &Path) -> PathBuf {
    let path = folder.join("store.db");
    let store = Sqlite::open(&path).unwrap();
    store.append(&plain("a", "opened")).unwrap();
    store.append_with_receipt(&plain("a", "prepared"), &receipt("a", ReceiptState::Open)).unwrap();
    store.append_and_settle(&plain("a", "closed"), ReceiptState::Done).unwrap();
    store.append(&plain("b", "opened")).unwrap();
    store.append_and_settle(&plain("b", "closed"), ReceiptState::Done).unwrap();
    path
}

fn refused(path: &Path) -> StoreFault {
    let before = fs::read(path).unwrap();
    let fault = Sqlite::open(path).expect_err("it must not be opened");
    assert!(fs::read(path).unwrap() == before, "an existing file was changed");
    fault
}

fn alter(path: &Path, statements: &str) {
    Connection::open(path).unwrap().execute_batch(statements).unwrap();
}

#[test]
fn what_is_no_store_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "Remember the milk.\n".repeat(100)).unwrap();
    assert!(matches!(refused(&text), StoreFault::Corrupt(_)));

    let foreign = folder.path().join("music.db");
    alter(&foreign, "CREATE TABLE songs (name TEXT); INSERT INTO songs VALUES ('x');");
    assert_eq!(refused(&foreign).to_string(), "the store is damaged: the file is a database, but not one of Sanare");
}

/// For as long as it may take, and no longer.
#[test]
fn all_of_a_store_is_looked_through() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Sqlite::open(&path).unwrap();
    for number in 0..600 {
        store.remember_shape(&format!("f{number}"), &"shape ".repeat(200), 1, 8).unwrap();
    }
    assert_eq!((store.is_whole(0), store.is_whole(60_000)), (Ok(false), Ok(true)));
    assert_eq!(store.shapes("f7").unwrap().len(), 1, "it goes on as before");
    drop(store);
    let page = |connection: &Connection| -> (u32, u32) {
        let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'calls'";
        let size = connection.pragma_query_value(None, "page_size", |row| row.get(0)).unwrap();
        (connection.query_row(root, [], |row| row.get(0)).unwrap(), size)
    };
    let (number, size) = page(&Connection::open(&path).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    let at = ((number - 1) * size) as usize;
    bytes[at..at + 8].fill(0x55);
    fs::write(&path, bytes).unwrap();
    // What is read of it when it is opened is whole.
    let store = Sqlite::open(&path).unwrap();
    assert!(matches!(store.is_whole(60_000), Err(StoreFault::Corrupt(_))));
}

#[test]
fn a_newer_store_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path());
    alter(&path, "PRAGMA user_version = 99");
    assert_eq!(refused(&path), StoreFault::Newer { found: 99, known: Sqlite::newest_format() });
}

#[test]
fn a_store_of_the_first_format_is_brought_to_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let first = include_str!("../../sql/sqlite/migrations/0001_first.sql");
    let receipt = "INSERT INTO ledger VALUES (1, 1, 'inc_a', 'prepared', 1, '{}', 'p', 'h');
        INSERT INTO receipts VALUES (1, 'inc_a', '/job.py', 'f', 'b', 'a', x'', 'o', x'', 'r', 0, 'open', 1);";
    fs::write(&path, b"").unwrap();
    alter(&path, &format!("{first}{receipt} PRAGMA application_id = 1398894177; PRAGMA user_version = 1;"));
    let store = Sqlite::open(&path).unwrap();
    assert_eq!(store.receipts_of_code("code").unwrap(), []);
    assert_eq!(store.incidents(9).unwrap(), []);
}

#[test]
fn the_ledger_cannot_be_changed_by_statements() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path());
    let connection = Connection::open(&path).unwrap();
    for statement in ["UPDATE ledger SET payload = '{}' WHERE seq = 1", "DELETE FROM ledger WHERE seq = 5"] {
        let error = connection.execute_batch(statement).expect_err(statement).to_string();
        assert!(error.contains("append-only"), "{error}");
    }
}

/// Alters the ledger behind the triggers' back and returns what `verify` says.
fn after_altering(statements: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path());
    alter(&path, &format!("DROP TRIGGER ledger_keeps_rows; DROP TRIGGER ledger_keeps_content; {statements}"));
    match Sqlite::open(&path) {
        Err(fault) => fault.to_string(),
        Ok(store) => match store.verify() {
            Err(fault) => fault.to_string(),
            Ok(Err(found)) => format!("record {}: {}", found.seq, found.what),
            Ok(Ok(records)) => format!("{records} records, and nothing found"),
        },
    }
}

#[test]
fn altered_chains_are_found() {
    let check = |statements: &str, expected: &str| assert_eq!(after_altering(statements), expected, "{statements}");
    check("", "5 records, and nothing found");
    check(
        "UPDATE ledger SET payload = '[]' WHERE seq = 2",
        "record 2: its content is another than the one that was written",
    );
    check(
        "UPDATE ledger SET payload = '' WHERE seq = 2",
        "record 2: its content is gone, and no record says that it was erased",
    );
    check("UPDATE ledger SET by = 'mallory' WHERE seq = 2", "record 2: its hash does not fit its content");
    check(
        "UPDATE ledger SET chain = 'fraud' WHERE seq = 5",
        "record 5: it does not name the hash of the record before it of `fraud`",
    );
    check("UPDATE ledger SET at = at + 1 WHERE seq = 4", "record 4: its hash does not fit its content");
    check("UPDATE ledger SET step = 'opened' WHERE seq = 3", "record 3: its hash does not fit its content");
    check(
        "DELETE FROM receipts; DELETE FROM ledger WHERE seq = 2",
        "record 3: its place does not follow the record before it",
    );
    check(
        "DELETE FROM receipts; DELETE FROM ledger WHERE seq = 1",
        "record 2: its place does not follow the record before it",
    );
    check(
        "DELETE FROM receipts; DELETE FROM ledger WHERE seq = 5",
        "the store is damaged: records are lost: 5 were written, the ledger ends at 4",
    );
    check(
        "UPDATE ledger SET hash = previous WHERE seq = 5",
        "the store is damaged: record 5 is not the one that was written",
    );
    check(
        "DELETE FROM receipts; UPDATE ledger SET seq = 9 WHERE seq = 2; UPDATE ledger SET seq = 2 WHERE seq = 3;
         UPDATE ledger SET seq = 3 WHERE seq = 9",
        "record 2: it does not name the hash of the record before it",
    );
}

#[test]
fn a_ledger_that_lost_its_end_with_the_log_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Sqlite::open(&path).unwrap();
    store.append(&plain("a", "opened")).unwrap();
    let copy = fs::read(&path).unwrap();
    store.append_and_settle(&plain("a", "closed"), ReceiptState::Done).unwrap();
    drop(store);
    fs::write(&path, copy).unwrap();
    let fault = refused(&path);
    assert!(
        matches!(&fault, StoreFault::Corrupt(what) if what.contains("records are lost: 2 were written")),
        "{fault}"
    );
}

#[test]
fn an_altered_receipt_is_never_handed_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path());
    alter(&path, "UPDATE receipts SET original = x'00' WHERE incident = 'inc_a'");
    let store = Sqlite::open(&path).unwrap();
    let fault = store.receipt(&incident("a")).expect_err("an altered receipt");
    assert_eq!(fault.to_string(), "the store is damaged: the receipt of inc_a is not as it was written");
}

/// Pages overwritten, zeroed and cut at many places: never a crash, never a wrong answer, never a repair of ours.
#[test]
fn broken_bytes_are_found_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(filled(folder.path())).unwrap();
    let head = fs::read(folder.path().join("store.db.head")).unwrap();
    let good = {
        let store = Sqlite::open(&folder.path().join("store.db")).unwrap();
        store.records(&incident("a")).unwrap()
    };
    let mut found = 0;
    let damages: Vec<(usize, u8)> = (0..whole.len()).step_by(509).flat_map(|at| [(at, 0), (at, 1), (at, 2)]).collect();
    for (at, how) in &damages {
        let mut bytes = whole.clone();
        match how {
            0 => bytes.truncate(*at),
            1 => bytes.iter_mut().skip(*at).take(64).for_each(|byte| *byte = 0),
            _ => bytes.iter_mut().skip(*at).take(64).for_each(|byte| *byte ^= 0x55),
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        fs::write(&path, &bytes).unwrap();
        fs::write(folder.path().join("store.db.head"), &head).unwrap();
        let verdict = Sqlite::open(&path).and_then(|store| Ok((store.verify()?, store.records(&incident("a")))));
        match verdict {
            Err(_) | Ok((Err(_), _) | (_, Err(_))) => found += 1,
            Ok((Ok(_), Ok(records))) => assert_eq!(records, good, "damage {how} at {at} gave other records"),
        }
    }
    assert!(found > damages.len() / 3, "only {found} of {} were found", damages.len());
}

#[test]
fn a_store_held_by_another_is_busy_after_the_patience() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path());
    let store = Sqlite::open_with(&path, Duration::from_millis(30)).unwrap();
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(store.append(&plain("c", "opened")), Err(StoreFault::Busy));
    assert_eq!(store.records(&incident("a")).unwrap().len(), 3, "reading goes on");
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.append(&plain("c", "opened")).unwrap().seq, 6);
}

#[test]
fn a_store_that_stands_still_is_not_waited_for_and_one_in_which_others_work_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path());
    let store = Sqlite::open(&path).unwrap();
    store.turn(50).unwrap();
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begin = Instant::now();
    assert_eq!(store.turn(50), Err(StoreFault::Busy));
    assert!((Duration::from_millis(50)..Duration::from_secs(1)).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    holder.execute_batch("ROLLBACK").unwrap();
    // Others that hold it nearly all the time, and get on: it is waited for, and had in the end.
    let works = std::thread::spawn({
        let path = path.clone();
        move || {
            let other = Connection::open(&path).unwrap();
            other.busy_timeout(Duration::from_secs(5)).unwrap();
            for number in 0..40 {
                other.execute_batch("BEGIN IMMEDIATE").unwrap();
                other.execute("INSERT INTO shapes (function, shape, at) VALUES ('f', ?1, 1)", [number]).unwrap();
                std::thread::sleep(Duration::from_millis(10));
                other.execute_batch("COMMIT").unwrap();
            }
        }
    });
    std::thread::sleep(Duration::from_millis(20));
    store.turn(200).unwrap();
    works.join().unwrap();
    // Its usual patience is back.
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let later = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        holder.execute_batch("ROLLBACK").unwrap();
    });
    store.append(&plain("c", "opened")).unwrap();
    later.join().unwrap();
}

#[test]
fn a_store_that_is_locked_altogether_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path());
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT").unwrap();
    let begin = Instant::now();
    assert_eq!(Sqlite::open(&path).map(drop), Err(StoreFault::Busy));
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    drop(holder);
    Sqlite::open(&path).unwrap();
}
