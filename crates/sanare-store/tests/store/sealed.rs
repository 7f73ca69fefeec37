//! What is on the disk only under the owner's key: good calls, and repairs of functions that hold a secret.

use std::path::Path;
use std::sync::Arc;

use sanare_core::port::scripted::ScriptedSeal;
use sanare_core::port::store::ReceiptChange;
use sanare_core::port::{Store as _, StoreFault};
use sanare_core::receipt::{Receipt, ReceiptState};
use sanare_store::Sqlite;

use super::{incident, plain, receipt};

/// Made here, so that no scanner takes this file for a leak.
fn token() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
}

fn with_secret(name: &str) -> Receipt {
    let text = format!("def load(self):\n    key = \"{}\"\n    return key", token());
    Receipt { original: text.clone().into_bytes(), text, ..receipt(name, ReceiptState::Open) }
}

fn open(path: &Path, key: &'static str) -> Sqlite {
    Sqlite::open(path).unwrap().sealed_by(Arc::new(ScriptedSeal(key)))
}

fn lies_raw(path: &Path, text: &str) -> bool {
    let folder = path.parent().unwrap();
    let files = std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    files.into_iter().any(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
}

#[test]
fn a_receipt_with_a_secret_is_sealed_and_comes_back_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (kept, clean) = (with_secret("a"), receipt("b", ReceiptState::Open));
    {
        let store = open(&path, "mine");
        store.append_with_receipt(&plain("a", "prepared"), &kept).unwrap();
        store.append_with_receipt(&plain("b", "prepared"), &clean).unwrap();
        assert_eq!(store.receipt(&incident("a")).unwrap(), Some(kept.clone()));
        // The write-ahead log lies beside it.
        assert!(!lies_raw(&path, &token()) && lies_raw(&path, "return 'é'"));
    }
    let again = open(&path, "mine");
    assert_eq!(again.receipts(ReceiptState::Open).unwrap(), [kept.clone(), clean.clone()]);
    assert_eq!(again.receipts_of_code(&kept.code).unwrap(), std::slice::from_ref(&kept));
    let lease = again.take_lease("l", "me", 1_700_000_000_000, 60_000).unwrap().unwrap();
    let other = with_secret("c");
    again.append_leased(&plain("c", "prepared"), ReceiptChange::Keep(&other), &lease).unwrap();
    assert_eq!(again.receipt(&incident("c")).unwrap(), Some(other));
    assert!(!lies_raw(&path, &token()));
    assert!(again.verify().unwrap().is_ok());
}

#[test]
fn under_another_key_it_is_told_and_nothing_of_it_is_handed_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (kept, clean) = (with_secret("a"), receipt("b", ReceiptState::Open));
    let store = open(&path, "mine");
    store.append_with_receipt(&plain("a", "prepared"), &kept).unwrap();
    store.append_with_receipt(&plain("b", "prepared"), &clean).unwrap();
    drop(store);
    let foreign = open(&path, "theirs");
    assert!(matches!(foreign.receipt(&incident("a")), Err(StoreFault::Sealed(_))));
    assert_eq!(foreign.receipts(ReceiptState::Open).unwrap(), std::slice::from_ref(&clean));
    assert!(foreign.receipts_of_code(&kept.code).unwrap().is_empty());
    // How it stands can be settled without reading it.
    foreign.append_and_settle(&plain("a", "closed"), ReceiptState::Undone).unwrap();
    assert_eq!(foreign.receipts(ReceiptState::Undone).unwrap(), []);
}

#[test]
fn without_a_key_nothing_is_written_that_would_need_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Sqlite::open(&path).unwrap();
    let refused = store.append_with_receipt(&plain("a", "prepared"), &with_secret("a"));
    assert!(matches!(refused, Err(StoreFault::Sealed(_))));
    assert!(matches!(store.remember_call("f", b"x", 1, 3, 0), Err(StoreFault::Sealed(_))));
    assert_eq!(store.verify().unwrap(), Ok(0));
    store.append_with_receipt(&plain("b", "prepared"), &receipt("b", ReceiptState::Open)).unwrap();
    assert!(store.receipt(&incident("b")).unwrap().is_some());
}
