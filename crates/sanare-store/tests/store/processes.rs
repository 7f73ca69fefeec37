//! Several processes on one store, and processes that are killed in the middle of it.
//!
//! The other processes are this test program again, told by a variable what to do.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sanare_core::model::budget::{Cost, Limits};
use sanare_core::port::Store as _;
use sanare_core::port::store::{Leave, ModelCall};
use sanare_core::receipt::ReceiptState;
use sanare_store::Sqlite;

use super::{incident, plain, receipt};

const ROLE: &str = "STORE_TEST_ROLE";

/// Another process, ended with the test whatever comes of it.
pub(super) struct Other(pub(super) Child);

impl Other {
    pub(super) fn start(role: &str, path: &Path) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::acts_as_another_process", "--nocapture"])
            .env(ROLE, format!("{role}|{}", path.display()))
            .stdout(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// What the other processes run; nothing when it is run as a test.
#[test]
fn acts_as_another_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (role, path) = role.split_once('|').unwrap();
    let name = std::process::id().to_string();
    let store = Sqlite::open(Path::new(path)).unwrap();
    match role {
        "writer" => {
            for number in 0..100 {
                store.append(&plain(&name, "gate")).unwrap();
                if number % 10 == 0 {
                    store.append_with_receipt(&plain(&name, "prepared"), &receipt(&name, ReceiptState::Open)).unwrap();
                }
            }
        }
        "until killed" => {
            for _ in 0..2_000 {
                store.append(&plain(&name, "opened")).unwrap();
                store.append_with_receipt(&plain(&name, "prepared"), &receipt(&name, ReceiptState::Open)).unwrap();
                store.remember_shape("f", &name, 1, 8).unwrap();
                store.append_and_settle(&plain(&name, "closed"), ReceiptState::Done).unwrap();
            }
        }
        "caller" => {
            let limits = Limits {
                calls_per_incident: 100,
                calls_per_hour: 5,
                tokens_per_incident: 1_000_000,
                tokens_per_day: 1_000_000,
                money_per_day: None,
            };
            for _ in 0..5 {
                let call = ModelCall { incident: name.clone(), at: 1_000, most: Cost { tokens: 10, money: 0 } };
                if let Leave::Granted(_) = store.begin_model_call(&call, &limits).unwrap() {
                    store.append(&plain(&name, "gate")).unwrap();
                }
            }
        }
        "opens" => {}
        other => panic!("no role {other}"),
    }
}

fn place(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join(".sanare").join("store.db")
}

/// All of them make the store, too, and none has to try twice.
#[test]
fn four_processes_keep_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder);
    let mut writers: Vec<Other> = (0..4).map(|_| Other::start("writer", &path)).collect();
    for writer in &mut writers {
        assert!(writer.0.wait().unwrap().success());
    }
    let store = Sqlite::open(&path).unwrap();
    assert_eq!(store.verify().unwrap(), Ok(440));
    for writer in &writers {
        assert_eq!(store.records(&incident(&writer.0.id().to_string())).unwrap().len(), 110);
    }
    assert_eq!(store.receipts(ReceiptState::Open).unwrap().len(), 40);
}

/// Twenty processes that all want to ask a model share five calls an hour; a restart refills nothing.
#[test]
fn twenty_processes_share_one_budget() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder);
    for _ in 0..2 {
        let mut callers: Vec<Other> = (0..10).map(|_| Other::start("caller", &path)).collect();
        for caller in &mut callers {
            assert!(caller.0.wait().unwrap().success());
        }
    }
    assert_eq!(Sqlite::open(&path).unwrap().verify().unwrap(), Ok(5));
}

#[test]
fn a_killed_writer_leaves_a_whole_chain() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder);
    let mut records = 0;
    for round in 0..30 {
        let mut writer = Other::start("until killed", &path);
        // A different moment each round, with no clock in it: after so many more records were seen.
        wait_for(&path, records + 1 + round % 11);
        writer.0.kill().unwrap();
        writer.0.wait().unwrap();
        let store = Sqlite::open(&path).unwrap();
        records = store.verify().unwrap().unwrap_or_else(|found| panic!("round {round}: {found:?}"));
        let open = store.receipts(ReceiptState::Open).unwrap().len() as u64;
        assert!(open <= round + 1, "round {round}: {open} open receipts");
    }
    assert!(records >= 30, "{records}");
}

/// Waits until the ledger has so many records, looking past the store itself.
fn wait_for(path: &Path, records: u64) {
    let begin = Instant::now();
    let seen = || {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = rusqlite::Connection::open_with_flags(path, flags).ok()?;
        connection.query_row("SELECT max(seq) FROM ledger", [], |row| row.get::<_, Option<u32>>(0)).ok()?
    };
    while u64::from(seen().unwrap_or(0)) < records {
        assert!(begin.elapsed() < Duration::from_secs(60), "the writer writes nothing");
    }
}

/// A forked child opens its own connection: parent and child write one chain.
#[test]
fn a_store_opened_before_a_fork_works_on_both_sides() {
    // Without unsafe code there is no bare fork here; Python's suite forks. What can be shown: a second store on the
    // same file in the same process is a second connection, and both write one chain.
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (Sqlite::open(&place(&folder)).unwrap(), Sqlite::open(&place(&folder)).unwrap());
    for _ in 0..10 {
        one.append(&plain("one", "gate")).unwrap();
        two.append(&plain("two", "gate")).unwrap();
    }
    assert_eq!(one.verify().unwrap(), Ok(20));
}
