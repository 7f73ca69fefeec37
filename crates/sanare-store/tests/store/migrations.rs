//! A store of an older format: copied first, then of the present format or as it was, and nothing between (S141).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use sanare_core::port::{Store as _, StoreFault};
use sanare_store::Sqlite;

use super::faults::{shim, write};
use super::keep::of_format_7;
use super::processes::Other;

/// A store of format 7, as its program left it.
fn older(folder: &Path) -> PathBuf {
    let path = folder.join("store.db");
    of_format_7(&path);
    Connection::open(&path).unwrap().pragma_update(None, "journal_mode", "WAL").unwrap();
    path
}

fn tables(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut statement =
        connection.prepare("SELECT name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY 1").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn records(path: &Path) -> Vec<(u32, String)> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare("SELECT seq, hash FROM ledger ORDER BY seq").unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

/// The files beside a store that are named after a format.
fn copies(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains(".format-")).collect();
    names.sort();
    names
}

#[test]
fn an_older_store_is_copied_before_it_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = older(folder.path());
    let (made, kept) = (tables(&path), records(&path));
    drop(Sqlite::open(&path).unwrap());
    assert_eq!(copies(folder.path()), ["store.db.format-7"]);
    let copy = folder.path().join("store.db.format-7");
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&copy).unwrap().permissions()) & 0o777, 0o600);
    assert_eq!((Sqlite::format_of(&copy).unwrap(), tables(&copy), records(&copy)), (7, made, kept));
    // Once, and a second one of that format gets its own copy.
    drop(Sqlite::open(&path).unwrap());
    assert_eq!(copies(folder.path()), ["store.db.format-7"]);
    fs::copy(&copy, &path).unwrap();
    drop(Sqlite::open(&path).unwrap());
    assert_eq!(copies(folder.path()), ["store.db.format-7", "store.db.format-7-2"]);
    // The copy is a store of its own, and a new store has none.
    assert_eq!(Sqlite::open(&copy).unwrap().verify().unwrap(), Ok(3));
    let new = tempfile::tempdir().unwrap();
    drop(Sqlite::open(&new.path().join("store.db")).unwrap());
    assert_eq!(copies(new.path()), [""; 0]);
}

#[test]
fn a_step_that_fails_takes_the_steps_before_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = older(folder.path());
    let last = include_str!("../../sql/sqlite/migrations/0009_keeping.sql");
    let table = last.split("CREATE TABLE ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    Connection::open(&path).unwrap().execute_batch(&format!("CREATE TABLE {table} (other TEXT)")).unwrap();
    let before = tables(&path);
    Sqlite::open(&path).expect_err("the last step cannot be made");
    assert_eq!((Sqlite::format_of(&path).unwrap(), tables(&path)), (7, before));
}

#[test]
fn without_a_copy_nothing_is_migrated() {
    let tools = tempfile::tempdir().unwrap();
    let Some(shim) = shim(tools.path()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = older(folder.path());
    let before = tables(&path);
    // Every write from the first on finds the disk full.
    let said = write(folder.path(), &shim, &[("STORE_TEST_FAIL_WRITE", "1 28 1".to_owned())]);
    assert_eq!(said, [r#"open NotMigrated { from: 7, why: "the disk is full" }"#]);
    assert_eq!((Sqlite::format_of(&path).unwrap(), tables(&path)), (7, before));
    assert_eq!(copies(folder.path()), [""; 0]);
    let fault = StoreFault::NotMigrated { from: 7, why: "the disk is full".to_owned() };
    assert_eq!(
        fault.to_string(),
        "the store has the older format 7 and stays as it is, since no copy of it could be made first: the disk is full"
    );
}

#[test]
fn killed_at_any_moment_it_is_of_one_format_or_the_other() {
    let (mut killed, mut kept) = (0, 0);
    for wait in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = older(folder.path());
        let before = tables(&path);
        let mut other = Other::start("opens", &path);
        let begin = Instant::now();
        // From the beginning of the copy on, a little later each time.
        while copies(folder.path()).is_empty() && other.0.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < Duration::from_secs(60), "nothing is opened");
        }
        let seen = Instant::now();
        while seen.elapsed() < Duration::from_micros(400 * wait * wait) {}
        other.0.kill().unwrap();
        killed += u32::from(!other.0.wait().unwrap().success());
        match Sqlite::format_of(&path).unwrap() {
            7 => {
                kept += 1;
                assert_eq!(tables(&path), before);
            }
            format => assert_eq!(format, Sqlite::newest_format(), "killed after {wait}"),
        }
        assert_eq!(Sqlite::open(&path).unwrap().verify().unwrap(), Ok(3), "killed after {wait}");
        let copies = copies(folder.path());
        assert!(copies.iter().all(|name| !name.ends_with(".half")) && !copies.is_empty(), "{copies:?}");
        for copy in copies {
            assert_eq!(Sqlite::format_of(&folder.path().join(copy)).unwrap(), 7);
        }
    }
    assert!(killed > 0, "none was killed while it opened the store");
    println!("{killed} of 20 were killed, {kept} of them before the migration");
}
