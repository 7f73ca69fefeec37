//! Settling what an earlier process left open (C106).

use std::path::Path;

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::port::{Store, StoreFault};
use sanare_effects::process::{Fate, ProcessMark};
use sanare_effects::regular_file;
use sanare_engine::recover::{Settled, settle};

use crate::wire::clock::SystemClock;

/// How long an incident of a process that cannot be looked at (another machine's, another container's) is left alone.
const FOREIGN_MS: u64 = 2 * 60 * 60 * 1_000;

/// Settles every incident whose process is gone. Doing it twice changes nothing.
///
/// # Errors
/// [`StoreFault`].
pub fn recover(store: &dyn Store) -> Result<Vec<Settled>, StoreFault> {
    let clock = SystemClock::new();
    let now = sanare_core::port::Clock::now(&clock);
    let alive = |id: &Id| runs(store, id, now);
    let digest_of = |path: &str| regular_file::read(Path::new(path)).ok().map(|bytes| Digest::of(&bytes));
    settle(store, &clock, &alive, &digest_of)
}

/// An incident that cannot be read is left alone: better open for ever than settled under its process.
fn runs(store: &dyn Store, id: &Id, now: u64) -> bool {
    let Ok(records) = store.records(id) else { return true };
    let Some(opened) = records.first() else { return true };
    // An answer is acted on by the process of whoever gave it, which need not be the one that failed.
    let answering = records.iter().rev().find_map(|record| record.json()["process"].as_str().map(str::to_owned));
    let process = answering.or_else(|| opened.json()["incident"]["process"].as_str().map(str::to_owned));
    let mark = process.as_deref().and_then(ProcessMark::parse);
    match mark.map(|mark| mark.fate()) {
        Some(Fate::Alive) => true,
        Some(Fate::Dead) => false,
        Some(Fate::Unknown) | None => now < opened.at.saturating_add(FOREIGN_MS),
    }
}
