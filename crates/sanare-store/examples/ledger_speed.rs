//! How long it takes to look at a whole ledger: a million records in twenty chains, pages and hashes. Prints JSON: seconds,
//! median and quartiles. Arguments: rounds, a folder on the disk that is meant, and how many records.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use rusqlite::{Connection, params};
use sanare_core::id::Id;
use sanare_core::ledger::{ChainHead, Entry, Record};
use sanare_core::port::Store as _;
use sanare_core::redact::Redactor;
use sanare_store::Sqlite;
use serde_json::json;

const CHAINS: u64 = 20;
const APPEND: &str = include_str!("../sql/sqlite/ledger_append.sql");

type Failed = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(3);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let records: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let place = tempfile::tempdir_in(&folder)?;
    let path = place.path().join("store.db");
    drop(Sqlite::open(&path)?);
    fill(&mut Connection::open(&path)?, records)?;
    let mut took = Vec::new();
    for _ in 0..rounds.max(1) {
        let store = Sqlite::open(&path)?;
        let begin = Instant::now();
        let found = store.verify()?.map_err(|broken| format!("{}: {}", broken.seq, broken.what))?;
        took.push(begin.elapsed().as_secs_f64());
        if found != records {
            return Err(format!("{found} of {records} records").into());
        }
    }
    took.sort_by(f64::total_cmp);
    let at = |share: usize| took.get(share * (took.len() - 1) / 4).copied().unwrap_or_default();
    let numbers = json!({ "verify_s": [at(2), at(1), at(3)], "records": records });
    Ok(writeln!(io::stdout(), "{numbers}")?)
}

/// Records as a loop writes them, each step of an incident of its application.
fn fill(to: &mut Connection, records: u64) -> Result<(), Failed> {
    let mut heads: BTreeMap<u64, ChainHead> = BTreeMap::new();
    let payload = Redactor::standard().json(&json!({
        "proposal": { "action": "restart_component", "target": "service:fraud/application", "rationale": "the serving process hangs or is gone" },
        "snapshot": "0e673f35c0b87e8c692bebb4bbac6e64f4c8980a90283e2e14ede269b96ada35", "reasons": ["a", "b", "c"],
    }));
    let transaction = to.transaction()?;
    {
        let mut add = transaction.prepare(APPEND)?;
        for seq in 1..=records {
            let incident = Id::from_text(format!("inc_{:026}", seq / 12));
            let entry = Entry { incident, step: "proposed".to_owned(), at: seq, payload: payload.clone() };
            let head =
                heads.entry(seq % CHAINS).or_insert_with(|| ChainHead::none(&format!("service-{}", seq % CHAINS)));
            let record = Record::after(head, seq, &entry);
            *head = record.head();
            add.execute(params![
                i64::try_from(seq)?,
                record.format,
                record.chain,
                i64::try_from(record.place)?,
                record.incident.as_str(),
                record.step,
                i64::try_from(record.at)?,
                record.by,
                record.payload,
                record.body.as_ref().map(|body| body.as_str()),
                record.previous.as_str(),
                record.hash.as_str(),
            ])?;
        }
    }
    Ok(transaction.commit()?)
}
