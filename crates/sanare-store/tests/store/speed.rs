//! How long the calls of one heal take, printed; the bound is wide, for a loaded machine.

use std::time::{Duration, Instant};

use sanare_core::port::Store as _;
use sanare_core::receipt::ReceiptState;
use sanare_store::Sqlite;

use super::{plain, receipt};

#[test]
fn the_records_of_a_heal_are_written_in_milliseconds() {
    let folder = tempfile::tempdir().unwrap();
    let begin = Instant::now();
    let store = Sqlite::open(&folder.path().join("store.db")).unwrap();
    let opened = begin.elapsed();
    let mut heals: Vec<Duration> = Vec::new();
    for _ in 0..20 {
        let begin = Instant::now();
        for step in ["opened", "evident", "diagnosed", "proposed", "judged", "checked", "approved"] {
            store.append(&plain("a", step)).unwrap();
        }
        store.append_with_receipt(&plain("a", "prepared"), &receipt("a", ReceiptState::Open)).unwrap();
        store.append(&plain("a", "applied")).unwrap();
        store.append_and_settle(&plain("a", "closed"), ReceiptState::Done).unwrap();
        heals.push(begin.elapsed());
    }
    heals.sort();
    let median = heals[heals.len() / 2];
    eprintln!("store: made in {opened:?}; ten records of a heal, two of them synced: median {median:?}");
    assert!(median < Duration::from_millis(500), "{median:?}");
}
