//! What is forgotten with time, a small transaction at a time (S119).

use std::collections::BTreeMap;

use rusqlite::{Transaction, params};
use sanare_core::ledger::v1::canonical;
use sanare_core::port::{Keeping, Tidied};
use sanare_core::service::moment::{HOUR, MINUTE};
use sanare_core::service::{Moment, Observation};
use serde_json::json;

use super::super::{Trouble, number, service, stored};

/// Readings are folded into minutes when they are so old.
const FOLDED: u64 = 48 * HOUR;

/// What goes with an incident, in the order in which it can.
const WITH_INCIDENT: [&str; 7] = [
    include_str!("../../../sql/sqlite/keep_drop_snapshots.sql"),
    include_str!("../../../sql/sqlite/keep_drop_approvals.sql"),
    include_str!("../../../sql/sqlite/keep_drop_run.sql"),
    include_str!("../../../sql/sqlite/keep_drop_deliveries.sql"),
    include_str!("../../../sql/sqlite/keep_drop_messages.sql"),
    include_str!("../../../sql/sqlite/keep_drop_receipts.sql"),
    include_str!("../../../sql/sqlite/keep_drop_incident.sql"),
];

/// One small transaction of it.
pub(super) fn tidy(to: &Transaction<'_>, keeping: &Keeping, now: Moment, rows: usize) -> Result<Tidied, Trouble> {
    let newest = include_str!("../../../sql/sqlite/service_observations_newest.sql");
    let newest = to.prepare_cached(newest)?.query_row([], |row| number(row, 0))?;
    let mark = include_str!("../../../sql/sqlite/keep_mark.sql");
    to.prepare_cached(mark)?.execute(params![stored(now.micros() / MINUTE)?, stored(newest)?])?;
    let mut tidied = Tidied { folded: fold(to, marked(to, now, FOLDED)?, rows)?, ..Tidied::default() };
    tidied.observations = forget_observations(to, keeping, now, rows)?;
    let minutes = stored(now.minus(keeping.minutes).micros() / MINUTE)?;
    tidied.minutes = changed(to, include_str!("../../../sql/sqlite/keep_minutes_drop.sql"), minutes, rows)?;
    tidied.incidents = forget_incidents(to, now.minus(keeping.incidents), rows.div_ceil(20))?;
    let oldest = stored(now.minus(keeping.incidents.max(keeping.observations)).micros() / MINUTE)?;
    to.prepare_cached(include_str!("../../../sql/sqlite/keep_marks_drop.sql"))?.execute(params![oldest])?;
    Ok(tidied)
}

/// The newest reading that is so old; 0 where none is known to be.
fn marked(to: &Transaction<'_>, now: Moment, age: u64) -> Result<u64, Trouble> {
    let mut marked = to.prepare_cached(include_str!("../../../sql/sqlite/keep_marked.sql"))?;
    Ok(marked.query_row(params![stored(now.minus(age).micros() / MINUTE)?], |row| number(row, 0))?)
}

fn changed(to: &Transaction<'_>, statement: &str, bound: i64, rows: usize) -> Result<u64, Trouble> {
    Ok(to.prepare_cached(statement)?.execute(params![bound, i64::try_from(rows).unwrap_or(i64::MAX)])? as u64)
}

/// Numbers of a minute.
struct Minute {
    count: u64,
    sum: f64,
    least: f64,
    most: f64,
}

/// Folds the next readings up to a place into their minutes; how many.
fn fold(to: &Transaction<'_>, upto: u64, rows: usize) -> Result<u64, Trouble> {
    let folded = include_str!("../../../sql/sqlite/keep_folded.sql");
    let folded = to.prepare_cached(folded)?.query_row([], |row| number(row, 0))?;
    let mut read = to.prepare_cached(include_str!("../../../sql/sqlite/keep_to_fold.sql"))?;
    let most = i64::try_from(rows).unwrap_or(i64::MAX);
    let mut found = read.query(params![stored(folded)?, stored(upto)?, most])?;
    let (mut minutes, mut count, mut last) = (BTreeMap::<(String, String, u64), Minute>::new(), 0, folded);
    while let Some(row) = found.next()? {
        let seen: Observation = service::value(&row.get::<_, String>(0)?)?;
        (count, last) = (count + 1, number(row, 1)?);
        let Some(value) = seen.value.number() else { continue };
        let series = canonical(&json!({ "component": seen.component, "signal": seen.signal, "labels": seen.labels }));
        let key = (seen.application.to_string(), series, seen.event_time.micros() / MINUTE);
        let of = minutes.entry(key).or_insert(Minute { count: 0, sum: 0.0, least: value, most: value });
        (of.count, of.sum) = (of.count + 1, of.sum + value);
        (of.least, of.most) = (of.least.min(value), of.most.max(value));
    }
    let mut add = to.prepare_cached(include_str!("../../../sql/sqlite/keep_fold.sql"))?;
    for ((application, series, minute), of) in &minutes {
        let (minute, count) = (stored(*minute)?, stored(of.count)?);
        add.execute(params![application, series, minute, count, of.sum, of.least, of.most])?;
    }
    if count > 0 {
        let set = include_str!("../../../sql/sqlite/keep_folded_set.sql");
        to.prepare_cached(set)?.execute(params![last.to_string()])?;
    }
    Ok(count)
}

/// Readings beyond their time, and the oldest of all while the store is too large; none that was not folded yet.
fn forget_observations(to: &Transaction<'_>, keeping: &Keeping, now: Moment, rows: usize) -> Result<u64, Trouble> {
    let mut upto = marked(to, now, keeping.observations)?;
    let ask = |name: &str| to.pragma_query_value(None, name, |row| number(row, 0));
    let used = (ask("page_count")? - ask("freelist_count")?) * ask("page_size")?;
    if used > keeping.size {
        let oldest = to.query_row(include_str!("../../../sql/sqlite/keep_oldest.sql"), [], |row| number(row, 0))?;
        upto = upto.max(oldest.saturating_add(rows as u64));
        fold(to, upto, rows.saturating_mul(2))?;
    } else {
        let folded = include_str!("../../../sql/sqlite/keep_folded.sql");
        upto = upto.min(to.prepare_cached(folded)?.query_row([], |row| number(row, 0))?);
    }
    let deployments = marked(to, now, keeping.incidents)?;
    let mut forget = to.prepare_cached(include_str!("../../../sql/sqlite/keep_observations_drop.sql"))?;
    let most = i64::try_from(rows).unwrap_or(i64::MAX);
    Ok(forget.execute(params![stored(upto)?, stored(deployments)?, most])? as u64)
}

fn forget_incidents(to: &Transaction<'_>, before: Moment, most: usize) -> Result<u64, Trouble> {
    let mut old = to.prepare_cached(include_str!("../../../sql/sqlite/keep_incidents_old.sql"))?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let ids = old.query_map(params![before.to_string(), most], |row| row.get::<_, String>(0))?;
    let ids: Vec<String> = ids.collect::<Result<_, _>>()?;
    if !ids.is_empty() {
        let all = json!(ids).to_string();
        for statement in WITH_INCIDENT {
            to.prepare_cached(statement)?.execute(params![all])?;
        }
    }
    Ok(ids.len() as u64)
}
