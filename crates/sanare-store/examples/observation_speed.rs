//! How many readings a second the store takes, each group on the disk before its writer is answered: groups of 100, from
//! one writer and from sixteen, beside bare SQLite with the same log and sync in turns. Prints JSON: median and quartiles.
//! Arguments: rounds, and a folder on the disk that is meant.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use rusqlite::{Connection, params};
use sanare_core::id::Id;
use sanare_core::service::{
    Application, Change, Draft, Labels, Moment, Observation, ObservedValue, ServiceStore, Signal, Source, Stamp, Trust,
};
use sanare_store::Sqlite;

const GROUP: usize = 100;
const GROUPS: usize = 320;
const START: u64 = 1_767_225_600_000_000;

type Failed = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let mut numbers: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    for _ in 0..rounds {
        let place = tempfile::tempdir_in(&folder)?;
        numbers.entry("sync_ms").or_default().push(sync(place.path())?);
        for (name, bare_name, writers) in [("one", "bare_one", 1), ("sixteen", "bare_sixteen", 16)] {
            let groups = groups(writers)?;
            let path = place.path().join(name).join("store.db");
            let store = Sqlite::open(&path)?;
            let took = timed(&groups, |group| {
                let change = Change { now: START / 1_000, observations: group.clone(), ..Change::default() };
                store.commit(&change).map(drop).map_err(Failed::from)
            })?;
            numbers.entry(name).or_default().push((GROUP * GROUPS) as f64 / took);
            drop(store);
            counted(&path, "service_observations")?;
            if name == "one" {
                numbers.entry("bytes").or_default().push(bytes(&path)?);
            }

            let path = place.path().join(bare_name);
            let bare = Mutex::new(bare(&path)?);
            let took = timed(&groups, |group| {
                let mut connection = bare.lock().map_err(|_| "a writer has failed")?;
                let transaction = connection.transaction()?;
                {
                    let mut add = transaction.prepare_cached(ADD)?;
                    for one in group {
                        let (at, arrival) = (one.event_time.micros() as i64, one.arrival_time.micros() as i64);
                        let (signal, value) = (one.signal.as_str(), one.value.number());
                        add.execute(params![one.application.as_str(), one.source_id, signal, value, at, arrival])?;
                    }
                }
                transaction.commit().map_err(Failed::from)
            })?;
            numbers.entry(bare_name).or_default().push((GROUP * GROUPS) as f64 / took);
            counted(&path, "readings")?;
        }
    }
    let told: BTreeMap<_, _> = numbers.into_iter().map(|(name, list)| (name, quartiles(list))).collect();
    writeln!(io::stdout().lock(), "{}", serde_json::to_string(&told)?)?;
    Ok(())
}

const ADD: &str =
    "INSERT INTO readings (application, source_id, signal, value, at, arrival) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// What one would write by hand: typed columns, one index that keeps doubles out, write-ahead log, full sync.
fn bare(path: &Path) -> Result<Connection, Failed> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch(
        "CREATE TABLE readings (number INTEGER PRIMARY KEY, application TEXT NOT NULL, source_id TEXT NOT NULL,
         signal TEXT NOT NULL, value REAL, at INTEGER NOT NULL, arrival INTEGER NOT NULL,
         UNIQUE (application, source_id))",
    )?;
    Ok(connection)
}

/// Seconds that it takes so many writers to hand in all groups.
fn timed(
    writers: &[Vec<Vec<Observation>>],
    write: impl Fn(&Vec<Observation>) -> Result<(), Failed> + Sync,
) -> Result<f64, Failed> {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let write = &write;
        let threads: Vec<_> =
            writers.iter().map(|groups| scope.spawn(move || groups.iter().try_for_each(write))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a writer has failed")?)
    })?;
    Ok(begun.elapsed().as_secs_f64())
}

/// The groups of each writer: a thousand signals of one service, with times of their own.
fn groups(writers: usize) -> Result<Vec<Vec<Vec<Observation>>>, Failed> {
    let application = Application::parse("fraud")?;
    let labels = Labels::new(BTreeMap::from([("host".to_owned(), "ml-7".to_owned())]))?;
    let mut number = 0_u64;
    let mut all = vec![Vec::new(); writers];
    for place in 0..GROUPS {
        let mut group = Vec::with_capacity(GROUP);
        for _ in 0..GROUP {
            number += 1;
            let at = Moment::from_micros(START + number * 1_000);
            let signal = Signal::parse(format!("signal_{}", number % 1_000))?;
            let value = ObservedValue::metric((number % 977) as f64 / 7.0);
            let draft = Draft {
                labels: labels.clone(),
                event_time: Some(at),
                ..Draft::new(application.clone(), signal, value)
            };
            let stamp = Stamp {
                id: Id::new(
                    "obs",
                    at.millis(),
                    u128::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835),
                ),
                arrival: at,
                source: Source::parse("client")?,
                trust: Trust::Own,
            };
            group.push(Observation::accept(draft, stamp)?);
        }
        if let Some(mine) = all.get_mut(place % writers) {
            mine.push(group);
        }
    }
    Ok(all)
}

/// Everything that was answered is there.
fn counted(path: &Path, table: &str) -> Result<(), Failed> {
    let count: i64 =
        Connection::open(path)?.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
    if count == (GROUP * GROUPS) as i64 { Ok(()) } else { Err(format!("{count} readings are there").into()) }
}

/// Bytes of the file for a reading, indexes and all.
fn bytes(path: &Path) -> Result<f64, Failed> {
    Ok(std::fs::metadata(path)?.len() as f64 / (GROUP * GROUPS) as f64)
}

/// Milliseconds of one write of a page with a sync, the middle of twenty.
fn sync(folder: &Path) -> Result<f64, Failed> {
    let mut file = std::fs::File::create(folder.join("sync"))?;
    let mut times = Vec::new();
    for _ in 0..20 {
        let begun = Instant::now();
        file.write_all(&[7; 4_096])?;
        file.sync_data()?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(quartiles(times)[0])
}

fn quartiles(mut list: Vec<f64>) -> [f64; 3] {
    list.sort_by(f64::total_cmp);
    let at = |share: f64| list.get((share * (list.len() - 1) as f64).round() as usize).copied().unwrap_or(f64::NAN);
    [at(0.5), at(0.25), at(0.75)]
}
