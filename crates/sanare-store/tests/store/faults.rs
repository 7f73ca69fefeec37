//! Disks that fail, and power that is cut: no acknowledged write is lost, and no transaction is half there (S120, S121).
//!
//! A child process writes through `fault.c`, which stands between it and the disk: it fails the n-th write or sync, or writes
//! down all of them in order. From that list a disk is made as a power cut leaves it at any moment: what was synced is there, of
//! the rest any part.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sanare_core::id::Id;
use sanare_core::port::{Store as _, StoreFault};
use sanare_core::receipt::ReceiptState;
use sanare_core::service::run::MessageKind;
use sanare_core::service::{Change, Incident, IncidentKind, Message, Run, ServiceStore as _};
use sanare_store::Sqlite;
use serde_json::json;

use super::services::{at, closed, incident, reading};
use super::{entry, plain, receipt};

/// Rounds of writes; each is a step of a service, readings alone, and a receipt of code healing.
const ROUNDS: usize = 25;
const FOLDER: &str = "STORE_TEST_FAULTS";

/// The shim, compiled once; `None` where there is no compiler, which is said.
pub(super) fn shim(folder: &Path) -> Option<PathBuf> {
    let shim = folder.join("fault.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/store/fault.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&shim).args([source, "-ldl"]).status();
    match built {
        Ok(status) if status.success() => Some(shim),
        other => {
            eprintln!("SKIPPED: there is no C compiler to build fault.c with: {other:?}");
            None
        }
    }
}

/// Runs the writer behind the shim; what it said of each write.
pub(super) fn write(folder: &Path, shim: &Path, faults: &[(&str, String)]) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "faults::writes_behind_the_shim", "--nocapture"]).env(FOLDER, folder);
    child.env("LD_PRELOAD", shim).envs(faults.iter().map(|(name, value)| (*name, value)));
    let done = child.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let said = fs::read_to_string(folder.join("acks")).unwrap_or_default();
    said.lines().map(str::to_owned).collect()
}

/// What the child runs; nothing when it is run as a test.
#[test]
fn writes_behind_the_shim() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut acks = fs::File::options().create(true).append(true).open(folder.join("acks")).unwrap();
    let mut say = |line: String| std::io::Write::write_all(&mut acks, line.as_bytes()).unwrap();
    let store = match Sqlite::open(&folder.join("store.db")) {
        Ok(store) => store,
        Err(fault) => return say(format!("open {fault:?}\n")),
    };
    for round in 0..ROUNDS {
        let name = format!("r{round}");
        let done = store.commit(&step(&name)).map(drop);
        say(format!("step {round} {}\n", if done.is_ok() { "ok".to_owned() } else { format!("{done:?}") }));
        let readings: Vec<_> = (0..10).map(|one| reading(&format!("{name}x{one}"), f64::from(one))).collect();
        let done = store.commit(&Change { now: at(1).millis(), observations: readings, ..Change::default() });
        say(format!("readings {round} {}\n", if done.is_ok() { "ok".to_owned() } else { format!("{done:?}") }));
        let done = store.append_with_receipt(&plain(&name, "prepared"), &receipt(&name, ReceiptState::Open));
        say(format!("receipt {round} {}\n", if done.is_ok() { "ok".to_owned() } else { format!("{done:?}") }));
    }
    // Nothing is put in order at the end: the process is gone.
    std::process::exit(0);
}

/// A transaction that joins a record, an incident, a run, a reading and a message.
fn step(name: &str) -> Change {
    let incident = closed(Incident {
        summary: sanare_core::service::Text::of(&"x".repeat(200)),
        ..incident(name, IncidentKind::LatencyHigh)
    });
    let message = Message {
        key: format!("escalation/{name}"),
        kind: MessageKind::Escalation,
        incident: incident.id.clone(),
        body: sanare_core::redact::Redactor::standard().json(&json!({ "said": "y".repeat(300) })),
        at: at(0),
    };
    Change {
        now: at(0).millis(),
        entries: vec![entry(name, "opened", &json!({ "incident": { "application": "fraud" }, "name": name }))],
        observations: vec![reading(name, 1.0)],
        runs: vec![(Run::new(&incident, at(0)), None)],
        incidents: vec![incident],
        messages: vec![message],
        ..Change::default()
    }
}

/// Looks at a store: what was acknowledged is there, nothing is half there, and the chains hold.
fn look(path: &Path, acked: &[String], about: &str) {
    let store = match Sqlite::open_existing(path) {
        Ok(Some(store)) => store,
        other => {
            let none = acked.iter().all(|line| !line.ends_with(" ok"));
            assert!(none, "{about}: it cannot be opened, and had acknowledged {acked:?}: {other:?}");
            return;
        }
    };
    let held = store.verify();
    assert!(matches!(held, Ok(Ok(_))), "{about}: {held:?}");
    let outbox: BTreeSet<String> = store.outbox(10_000).unwrap().into_iter().map(|message| message.key).collect();
    let fraud = sanare_core::service::Application::parse("fraud").unwrap();
    let seen: BTreeSet<String> = store.recent(&fraud, 100_000).unwrap().into_iter().map(|one| one.source_id).collect();
    let acked: BTreeSet<&str> = acked.iter().filter_map(|line| line.strip_suffix(" ok")).collect();
    for round in 0..ROUNDS {
        let name = format!("r{round}");
        let id = Id::from_text(format!("inc_{name}"));
        let steps = store.records_of(&id).unwrap();
        let has = |step: &str| steps.iter().any(|record| record.step == step);
        let whole = [
            has("opened"),
            store.incident(&id).unwrap().is_some(),
            store.run(&id).unwrap().is_some(),
            seen.contains(&name),
            outbox.contains(&format!("escalation/{name}")),
        ];
        let readings: Vec<bool> = (0..10).map(|one| seen.contains(&format!("{name}x{one}"))).collect();
        let receipt = [has("prepared"), store.receipt(&id).unwrap().is_some()];
        for (what, parts) in [("step", &whole[..]), ("readings", &readings[..]), ("receipt", &receipt[..])] {
            let there = parts.iter().all(|part| *part);
            assert!(there || parts.iter().all(|part| !part), "{about}: {what} {round} is half there: {parts:?}");
            let acked = acked.contains(format!("{what} {round}").as_str());
            assert!(there || !acked, "{about}: {what} {round} was acknowledged and is gone");
        }
    }
}

#[test]
fn a_disk_that_fails_loses_nothing_acknowledged_and_leaves_nothing_half() {
    let tools = tempfile::tempdir().unwrap();
    let Some(shim) = shim(tools.path()) else { return };
    let (mut refused, mut full) = (0, 0);
    let cases: Vec<(&str, String)> = [3, 8, 20, 41, 42, 43, 57, 74, 90, 111, 140, 171, 203, 260]
        .iter()
        .flat_map(|at| {
            [
                ("STORE_TEST_FAIL_WRITE", format!("{at} 5 0")),
                ("STORE_TEST_FAIL_WRITE", format!("{at} 28 1")),
                ("STORE_TEST_FAIL_WRITE", format!("{at} 30 1")),
                // The write is on the disk, and the answer is lost.
                ("STORE_TEST_FAIL_SYNC", format!("{} 5", at / 3 + 1)),
            ]
        })
        .collect();
    for case in &cases {
        let folder = tempfile::tempdir().unwrap();
        let said = write(folder.path(), &shim, std::slice::from_ref(case));
        refused += said.iter().filter(|line| !line.ends_with(" ok")).count();
        full += said.iter().filter(|line| line.contains("DiskFull")).count();
        look(&folder.path().join("store.db"), &said, &format!("{case:?}"));
    }
    assert!(refused > cases.len() && full > 5, "the faults were not met: {refused} refused, {full} of them full");
}

/// What the shim has written down.
enum Event {
    Write { file: String, at: usize, bytes: Vec<u8> },
    Cut { file: String, to: usize },
    Sync { file: String },
    Gone { file: String },
    Ack(String),
}

fn events(log: &[u8]) -> Vec<Event> {
    let (mut all, mut rest) = (Vec::new(), log);
    while let Some((kind, after)) = rest.split_first() {
        let number = |place: usize| u64::from_le_bytes(after[place * 8..place * 8 + 8].try_into().unwrap()) as usize;
        let (name, at, length) = (number(0), number(1), number(2));
        let file = String::from_utf8(after[24..24 + name].to_vec()).unwrap();
        let body = &after[24 + name..];
        let (event, used) = match kind {
            b'w' => (Event::Write { file, at, bytes: body[..length].to_vec() }, length),
            b'a' => (Event::Ack(String::from_utf8(body[..length].to_vec()).unwrap()), length),
            b't' => (Event::Cut { file, to: at }, 0),
            b'u' => (Event::Gone { file }, 0),
            _ => (Event::Sync { file }, 0),
        };
        all.push(event);
        rest = &body[used..];
    }
    all
}

/// One file of a disk: what is surely on it, and what has been written since.
#[derive(Clone, Default)]
struct Written {
    synced: Vec<u8>,
    since: Vec<(usize, Option<Vec<u8>>)>,
}

fn apply(to: &mut Vec<u8>, at: usize, bytes: Option<&[u8]>) {
    match bytes {
        None => to.resize(at, 0),
        Some(bytes) => {
            to.resize(to.len().max(at + bytes.len()), 0);
            to[at..at + bytes.len()].copy_from_slice(bytes);
        }
    }
}

impl Written {
    /// As a power cut may leave it: of what was not synced any part, down to sectors.
    fn cut(&self, chance: &mut impl FnMut() -> u64) -> Vec<u8> {
        let mut left = self.synced.clone();
        for (at, bytes) in &self.since {
            match (chance() % 4, bytes) {
                (0, _) => {}
                (1, Some(bytes)) => {
                    let sectors = bytes.chunks(512).enumerate();
                    for (number, sector) in sectors {
                        if chance().is_multiple_of(2) {
                            apply(&mut left, at + number * 512, Some(sector));
                        }
                    }
                }
                (_, bytes) => apply(&mut left, *at, bytes.as_deref()),
            }
        }
        left
    }
}

#[test]
fn a_power_cut_at_a_thousand_points_takes_nothing_acknowledged() {
    let tools = tempfile::tempdir().unwrap();
    let Some(shim) = shim(tools.path()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = tools.path().join("log");
    let said = write(folder.path(), &shim, &[("STORE_TEST_LOG", log.display().to_string())]);
    assert_eq!(said.len(), ROUNDS * 3, "{said:?}");
    let events = events(&fs::read(&log).unwrap());
    assert!(events.len() > 300, "{}", events.len());
    let mut seed = 0x5361_6E61_7265_u64;
    let mut chance = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    let mut points: Vec<usize> = (0..1_000).map(|point| point * events.len() / 1_000).collect();
    points.push(events.len());
    let (mut disk, mut acked, mut done) = (BTreeMap::<String, Written>::new(), Vec::new(), 0);
    let mut leaving = BTreeSet::new();
    let place = tempfile::tempdir().unwrap();
    for (number, point) in points.iter().enumerate() {
        for event in &events[done..*point] {
            match event {
                Event::Ack(line) => acked.push(line.trim_end().to_owned()),
                Event::Write { file, at, bytes } => {
                    disk.entry(file.clone()).or_default().since.push((*at, Some(bytes.clone())));
                }
                Event::Cut { file, to } => disk.entry(file.clone()).or_default().since.push((*to, None)),
                Event::Gone { file } => drop(leaving.insert(file.clone())),
                Event::Sync { file } => {
                    // A journaling file system has put a removal down before it answers the next sync.
                    std::mem::take(&mut leaving).iter().for_each(|gone| drop(disk.remove(gone)));
                    let written = disk.entry(file.clone()).or_default();
                    for (at, bytes) in std::mem::take(&mut written.since) {
                        apply(&mut written.synced, at, bytes.as_deref());
                    }
                }
            }
        }
        done = *point;
        let folder = place.path().join(number.to_string());
        fs::create_dir(&folder).unwrap();
        for (file, written) in &disk {
            let bytes = written.cut(&mut chance);
            if !leaving.contains(file) || chance().is_multiple_of(2) {
                fs::write(folder.join(file), bytes).unwrap();
            }
        }
        look(&folder.join("store.db"), &acked, &format!("cut {number} after event {point}"));
        fs::remove_dir_all(&folder).unwrap();
    }
}

/// A page of the service's tables that is not what it was: an error, or what was written; never anything else.
#[test]
fn a_broken_page_of_a_service_is_an_error_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Sqlite::open(&path).unwrap();
    for round in 0..40 {
        store.commit(&step(&format!("r{round}"))).unwrap();
    }
    let asked = |store: &Sqlite| -> Result<String, StoreFault> {
        Ok(format!("{:?} {:?} {:?}", store.newest_incidents(100)?, store.outbox(100)?, store.due(at(9), 100)?))
    };
    let whole = asked(&store).unwrap();
    drop(store);
    let bytes = fs::read(&path).unwrap();
    let mut found = 0;
    let pages = bytes.len() / 4_096;
    for page in 1..pages {
        let mut broken = bytes.clone();
        broken[page * 4_096..page * 4_096 + 64].iter_mut().for_each(|byte| *byte ^= 0x55);
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("store.db");
        fs::write(&path, broken).unwrap();
        match Sqlite::open(&path).and_then(|store| asked(&store)) {
            Err(_) => found += 1,
            Ok(read) => assert_eq!(read, whole, "page {page}"),
        }
    }
    assert!(found > 3, "{found} of {pages}");
}
