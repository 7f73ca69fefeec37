//! Forgetting an application, a small transaction at a time (S119). Wherever it dies, what is not gone is still there, and no
//! record says that it is.

use rusqlite::{OptionalExtension as _, Transaction, params};
use sanare_core::ledger::{Entry, Record, SYSTEM};
use sanare_core::port::{Erased, NotErased};
use sanare_core::service::Silence;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::{Trouble, ledger, number, service, stored};

/// So long an act counts for the limits, whatever is erased of its application, in milliseconds.
const COUNTS: u64 = 24 * 60 * 60 * 1_000;

/// What goes with an incident, in the order in which it can.
const WITH_INCIDENT: [&str; 8] = [
    include_str!("../../../sql/sqlite/erase_measured.sql"),
    include_str!("../../../sql/sqlite/keep_drop_snapshots.sql"),
    include_str!("../../../sql/sqlite/keep_drop_approvals.sql"),
    include_str!("../../../sql/sqlite/keep_drop_run.sql"),
    include_str!("../../../sql/sqlite/keep_drop_deliveries.sql"),
    include_str!("../../../sql/sqlite/keep_drop_messages.sql"),
    include_str!("../../../sql/sqlite/keep_drop_receipts.sql"),
    include_str!("../../../sql/sqlite/keep_drop_incident.sql"),
];

/// An erasure under way, as it is kept.
#[derive(Serialize, Deserialize)]
struct Begun {
    /// Its beginning, in milliseconds since 1970.
    at: u64,
    /// Readings up to this place go.
    observations: u64,
    /// Payloads up to this place go.
    upto: u64,
    /// Up to this place they are gone.
    gone: u64,
}

fn key(application: &str) -> String {
    format!("erasing/{application}")
}

fn begun(to: &Transaction<'_>, application: &str) -> Result<Option<Begun>, Trouble> {
    let key = key(application);
    let mut statement = to.prepare_cached(include_str!("../../../sql/sqlite/service_states_from.sql"))?;
    let first = statement.query_row(params![key], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?)));
    let found = first.optional()?.filter(|(known, _)| *known == key);
    found.map(|(_, bytes)| service::value(&String::from_utf8_lossy(&bytes))).transpose()
}

fn note(to: &Transaction<'_>, application: &str, begun: &Begun) -> Result<(), Trouble> {
    let mut set = to.prepare_cached(include_str!("../../../sql/sqlite/service_state_set.sql"))?;
    set.execute(params![key(application), json!(begun).to_string().into_bytes()])?;
    Ok(())
}

/// What of an application is not over.
fn needed(to: &Transaction<'_>, application: &str) -> Result<Option<String>, Trouble> {
    for needed in [
        include_str!("../../../sql/sqlite/erase_needs_incident.sql"),
        include_str!("../../../sql/sqlite/erase_needs_receipt.sql"),
    ] {
        if let Some(id) = to.prepare_cached(needed)?.query_row(params![application], |row| row.get(0)).optional()? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Begins, or begins again.
pub(super) fn begin(to: &Transaction<'_>, application: &str, entry: &Entry) -> Result<Result<u64, NotErased>, Trouble> {
    if let Some(id) = needed(to, application)? {
        return Ok(Err(NotErased::Needed(id)));
    }
    let upto = ledger::head_of(to, application)?.place;
    let since = stored(entry.at.saturating_sub(COUNTS))?;
    let exists = include_str!("../../../sql/sqlite/erase_exists.sql");
    let exists: bool = to.query_row(exists, params![application, since], |row| row.get(0))?;
    let silent = silences(to, application)?.is_empty();
    if !exists && silent && upto == 0 && begun(to, application)?.is_none() {
        return Ok(Err(NotErased::Unknown(application.to_owned())));
    }
    let left = include_str!("../../../sql/sqlite/erase_left.sql");
    let left = to.query_row(left, params![application], |row| number(row, 0))?;
    let record = ledger::add(to, SYSTEM, entry)?;
    let erasure = include_str!("../../../sql/sqlite/erase_note.sql");
    to.execute(erasure, params![application, stored(upto)?, stored(record.place)?])?;
    let newest = include_str!("../../../sql/sqlite/service_observations_newest.sql");
    let observations = to.query_row(newest, [], |row| number(row, 0))?;
    note(to, application, &Begun { at: entry.at, observations, upto, gone: 0 })?;
    Ok(Ok(left))
}

/// The next rows.
pub(super) fn some(to: &Transaction<'_>, application: &str, rows: usize) -> Result<Result<Erased, NotErased>, Trouble> {
    let Some(begun) = begun(to, application)? else {
        return Ok(Err(NotErased::Unfinished(application.to_owned())));
    };
    if let Some(id) = needed(to, application)? {
        return Ok(Err(NotErased::Needed(id)));
    }
    let most = i64::try_from(rows).unwrap_or(i64::MAX);
    let observations = include_str!("../../../sql/sqlite/erase_observations.sql");
    let by = params![application, stored(begun.observations)?, most];
    let mut gone = to.prepare_cached(observations)?.execute(by)?;
    if gone == 0 {
        let minutes = include_str!("../../../sql/sqlite/erase_minutes.sql");
        gone = to.prepare_cached(minutes)?.execute(params![application, most])?;
    }
    if gone == 0 {
        gone = incidents(to, application, rows.div_ceil(20))?;
    }
    if gone == 0 && begun.gone < begun.upto {
        let next = begun.upto.min(begun.gone.saturating_add(rows as u64));
        let payloads = include_str!("../../../sql/sqlite/erase_payloads.sql");
        let by = params![application, stored(begun.gone)?, stored(next)?];
        let payloads = to.prepare_cached(payloads)?.execute(by)? as u64;
        note(to, application, &Begun { gone: next, ..begun })?;
        // Places whose payload was gone before are a step all the same.
        return Ok(Ok(Erased { payloads, rows: u64::from(payloads == 0) }));
    }
    if gone == 0 {
        gone = rest(to, application, begun.at)?;
    }
    Ok(Ok(Erased { rows: gone as u64, payloads: 0 }))
}

/// The oldest incidents, with all that hangs on them.
fn incidents(to: &Transaction<'_>, application: &str, most: usize) -> Result<usize, Trouble> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut found = to.prepare_cached(include_str!("../../../sql/sqlite/erase_ids.sql"))?;
    let ids = found.query_map(params![application, most], |row| row.get::<_, String>(0))?;
    let ids: Vec<String> = ids.collect::<Result<_, _>>()?;
    if ids.is_empty() {
        return Ok(0);
    }
    let all = json!(ids).to_string();
    let mut gone = 0;
    for statement in WITH_INCIDENT {
        gone += to.prepare_cached(statement)?.execute(params![all])?;
    }
    Ok(gone)
}

/// What hangs on no incident that is there, acts that count no more, and silences.
fn rest(to: &Transaction<'_>, application: &str, at: u64) -> Result<usize, Trouble> {
    let since = stored(at.saturating_sub(COUNTS))?;
    let acts = include_str!("../../../sql/sqlite/erase_acts.sql");
    let mut gone = to.prepare_cached(acts)?.execute(params![application, since])?;
    for statement in [
        include_str!("../../../sql/sqlite/erase_snapshots.sql"),
        include_str!("../../../sql/sqlite/erase_receipts.sql"),
    ] {
        gone += to.prepare_cached(statement)?.execute(params![application])?;
    }
    for (before, after) in silences(to, application)? {
        gone += match after {
            Some(after) => {
                let set = include_str!("../../../sql/sqlite/service_silence_set.sql");
                let by = params![after.id.as_str(), stored(after.end.micros())?, service::text(&after)?];
                to.prepare_cached(set)?.execute(by)?
            }
            None => {
                let drop = include_str!("../../../sql/sqlite/service_silence_drop.sql");
                to.prepare_cached(drop)?.execute(params![before.id.as_str()])?
            }
        };
    }
    Ok(gone)
}

/// Silences that name an application, and what is left of each without it.
fn silences(to: &Transaction<'_>, application: &str) -> Result<Vec<(Silence, Option<Silence>)>, Trouble> {
    let all = include_str!("../../../sql/sqlite/service_silences_all.sql");
    let all: Vec<Silence> = service::all(to, all, &[])?;
    let without = |one: Silence| {
        let after = one.without(application);
        (after.as_ref() != Some(&one)).then_some((one, after))
    };
    Ok(all.into_iter().filter_map(without).collect())
}

/// Ends, where it is all gone.
pub(super) fn end(
    to: &Transaction<'_>,
    application: &str,
    entry: &Entry,
) -> Result<Result<Record, NotErased>, Trouble> {
    match some(to, application, 1)? {
        Ok(left) if left == Erased::default() => {}
        Ok(_) => return Ok(Err(NotErased::Unfinished(application.to_owned()))),
        Err(why) => return Ok(Err(why)),
    }
    let record = ledger::add(to, SYSTEM, entry)?;
    let drop = include_str!("../../../sql/sqlite/service_state_drop.sql");
    to.prepare_cached(drop)?.execute(params![key(application)])?;
    Ok(Ok(record))
}
