//! Where the store lies: private, or a clear answer.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sanare_core::port::{Store as _, StoreFault};
use sanare_store::Sqlite;

use super::plain;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn folder_and_files_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/.sanare/store.db");
    let store = Sqlite::open(&path).unwrap();
    store.append(&plain("a", "opened")).unwrap();
    store.append_and_settle(&plain("a", "closed"), sanare_core::receipt::ReceiptState::Done).unwrap();
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != ".gitignore" {
            assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.file_name());
        }
    }
    assert_eq!(fs::read_to_string(path.parent().unwrap().join(".gitignore")).unwrap(), "*\n");
}

#[test]
fn an_existing_folder_keeps_its_mode_and_the_file_is_closed_to_others() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = folder.path().join("store.db");
    drop(Sqlite::open(&path).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    drop(Sqlite::open(&path).unwrap());
    assert_eq!((mode(folder.path()), mode(&path)), (0o755, 0o600));
    assert!(!folder.path().join(".gitignore").exists());
}

#[test]
fn a_place_that_cannot_be_used_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = folder.path().join("file");
    fs::write(&in_the_way, "x").unwrap();
    for path in [in_the_way.join("store.db"), folder.path().to_path_buf()] {
        match Sqlite::open(&path) {
            Err(StoreFault::Unusable(why)) => assert!(why.contains(folder.path().to_str().unwrap()), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(fs::read_to_string(&in_the_way).unwrap(), "x");
}

#[test]
fn the_next_place_is_taken_only_when_the_first_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    fs::write(&blocked, "x").unwrap();
    let second = folder.path().join("state/store.db");
    let store = Sqlite::open_first(&[blocked.join("store.db"), second.clone()]).unwrap();
    assert_eq!(store.path(), second);

    let damaged = folder.path().join("damaged.db");
    fs::write(&damaged, "not a database, and longer than a header of SQLite would be: ".repeat(20)).unwrap();
    assert!(matches!(Sqlite::open_first(&[damaged, second]), Err(StoreFault::Corrupt(_))));
}

#[test]
fn no_store_is_not_an_error_and_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".sanare/store.db");
    assert!(Sqlite::open_existing(&path).unwrap().is_none());
    assert!(!path.parent().unwrap().exists());
}
