//! The ledger's rows, and the index of incidents over them.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::ledger::{ChainBreak, ChainHead, Entry, Erasure, Record, SYSTEM, Seal, Walk};
use sanare_core::port::StoreFault;

use super::{Trouble, number, stored};
use crate::standing::Standing;

/// Chains an entry and moves the incident on.
pub(super) fn append(transaction: &Transaction<'_>, entry: &Entry) -> Result<Record, Trouble> {
    let record = add(transaction, SYSTEM, entry)?;
    transaction
        .prepare_cached(include_str!("../../sql/sqlite/incident_open.sql"))?
        .execute(params![record.incident.as_str(), stored(record.seq)?])?;
    if let Some(standing) = Standing::after(entry) {
        transaction
            .prepare_cached(include_str!("../../sql/sqlite/incident_set_standing.sql"))?
            .execute(params![record.incident.as_str(), standing.word()])?;
    }
    Ok(record)
}

/// Chains an entry that is not in the index of code healing's incidents, in the chain that it belongs to.
pub(super) fn chain_entry(transaction: &Transaction<'_>, entry: &Entry) -> Result<Record, Trouble> {
    let chain = match entry.application() {
        Some(application) => application.to_owned(),
        None => chain_of(transaction, &entry.incident)?.unwrap_or_else(|| SYSTEM.to_owned()),
    };
    add(transaction, &chain, entry)
}

fn chain_of(connection: &Connection, incident: &Id) -> Result<Option<String>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/ledger_chain_of_incident.sql"))?;
    Ok(statement.query_row(params![incident.as_str()], |row| row.get(0)).optional()?)
}

/// Writes the next record of a chain.
pub(super) fn add(transaction: &Transaction<'_>, chain: &str, entry: &Entry) -> Result<Record, Trouble> {
    let seq = last(transaction)?.map_or(0, |(seq, _)| seq);
    let record = Record::after(&head_of(transaction, chain)?, seq + 1, entry);
    transaction.prepare_cached(include_str!("../../sql/sqlite/ledger_append.sql"))?.execute(params![
        stored(record.seq)?,
        record.format,
        record.chain,
        stored(record.place)?,
        record.incident.as_str(),
        record.step,
        stored(record.at)?,
        record.by,
        record.payload,
        record.body.as_ref().map(Digest::as_str),
        record.previous.as_str(),
        record.hash.as_str(),
    ])?;
    Ok(record)
}

/// The newest record of a chain.
pub(super) fn head_of(connection: &Connection, chain: &str) -> Result<ChainHead, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/ledger_head_of_chain.sql"))?;
    let found = statement.query_row(params![chain], |row| Ok((number(row, 0)?, digest(row, 1)?))).optional()?;
    let head = |(place, hash)| ChainHead { chain: chain.to_owned(), place, hash };
    Ok(found.map_or_else(|| ChainHead::none(chain), head))
}

/// The newest record of each chain, by name.
pub(super) fn heads(connection: &Connection) -> Result<Vec<ChainHead>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/ledger_heads.sql"))?;
    let head = |row: &Row<'_>| Ok(ChainHead { chain: row.get(0)?, place: number(row, 1)?, hash: digest(row, 2)? });
    Ok(statement.query_map([], head)?.collect::<Result<_, _>>()?)
}

/// The hash of a place of a chain, while its record is there.
pub(super) fn hash_at(connection: &Connection, chain: &str, place: u64) -> Result<Option<Digest>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/ledger_hash_in_chain.sql"))?;
    Ok(statement.query_row(params![chain, stored(place)?], |row| digest(row, 0)).optional()?)
}

/// What stays of records that were pruned.
pub(super) fn seals(connection: &Connection) -> Result<Vec<Seal>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/ledger_seals_all.sql"))?;
    let seal = |row: &Row<'_>| {
        let head = ChainHead { chain: row.get(0)?, place: number(row, 1)?, hash: digest(row, 2)? };
        Ok(Seal { head, record: number(row, 3)? })
    };
    Ok(statement.query_map([], seal)?.collect::<Result<_, _>>()?)
}

fn erasures(connection: &Connection) -> Result<Vec<Erasure>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/ledger_erasures_all.sql"))?;
    let erasure = |row: &Row<'_>| Ok(Erasure { chain: row.get(0)?, upto: number(row, 1)?, record: number(row, 2)? });
    Ok(statement.query_map([], erasure)?.collect::<Result<_, _>>()?)
}

/// Place and hash of the last record.
pub(super) fn last(connection: &Connection) -> Result<Option<(u64, Digest)>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/ledger_head.sql"))?;
    Ok(statement.query_row([], |row| Ok((number(row, 0)?, digest(row, 1)?))).optional()?)
}

/// All records of an incident, in order.
pub(super) fn of_incident(connection: &Connection, incident: &Id) -> Result<Vec<Record>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/ledger_of_incident.sql"))?;
    let records = statement.query_map(params![incident.as_str()], record)?.collect::<Result<_, _>>()?;
    Ok(records)
}

/// Records after a place, in order.
pub(super) fn after(connection: &Connection, seq: u64, limit: usize) -> Result<Vec<Record>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/ledger_after.sql"))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let records = statement.query_map(params![stored(seq)?, limit], record)?.collect::<Result<_, _>>()?;
    Ok(records)
}

/// Incidents, newest first.
pub(super) fn incidents(connection: &Connection, limit: usize) -> Result<Vec<Id>, Trouble> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/incidents_newest.sql"))?;
    let ids = statement.query_map(params![limit], id)?.collect::<Result<_, _>>()?;
    Ok(ids)
}

/// Incidents of the service half, newest first.
pub(super) fn service_incidents(connection: &Connection) -> Result<Vec<Id>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/service_incident_ids.sql"))?;
    let ids = statement.query_map([], id)?.collect::<Result<_, _>>()?;
    Ok(ids)
}

/// Incidents that are on their way, oldest first.
pub(super) fn unfinished(connection: &Connection) -> Result<Vec<Id>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/incidents_unfinished.sql"))?;
    let ids = statement.query_map([], id)?.collect::<Result<_, _>>()?;
    Ok(ids)
}

/// Looks at the pages, at the whole chain, and at the noted head.
pub(super) fn verify(
    connection: &Connection,
    noted: Option<(u64, Digest)>,
) -> Result<Result<u64, ChainBreak>, Trouble> {
    let pages: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if pages != "ok" {
        return Err(StoreFault::Corrupt(pages).into());
    }
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/ledger_all.sql"))?;
    let mut unreadable = None;
    let rows = statement.query_map([], record)?;
    let records = rows.map_while(|row| row.map_err(|error| unreadable = Some(error)).ok());
    let mut walk = Walk::new(&seals(connection)?, &erasures(connection)?);
    let verdict = records.map(|record| walk.step(&record)).find(Result::is_err).unwrap_or(Ok(()));
    let verdict = verdict.and_then(|()| walk.end());
    if let Some(error) = unreadable {
        return Err(error.into());
    }
    if let (Ok(_), Some(noted)) = (&verdict, noted) {
        reaches(connection, &noted)?;
    }
    Ok(verdict)
}

/// That the chain has the noted record.
pub(super) fn reaches(connection: &Connection, noted: &(u64, Digest)) -> Result<(), Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/ledger_hash_at.sql"))?;
    let found = statement.query_row(params![stored(noted.0)?], |row| digest(row, 0)).optional()?;
    if found.as_ref() == Some(&noted.1) {
        return Ok(());
    }
    let end = last(connection)?.map_or(0, |(seq, _)| seq);
    let what = match found {
        Some(_) => format!("record {} is not the one that was written", noted.0),
        None => format!("records are lost: {} were written, the ledger ends at {end}", noted.0),
    };
    Err(StoreFault::Corrupt(what).into())
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        seq: number(row, 0)?,
        format: row.get(1)?,
        chain: row.get(2)?,
        place: number(row, 3)?,
        incident: Id::from_text(row.get::<_, String>(4)?),
        step: row.get(5)?,
        at: number(row, 6)?,
        by: row.get(7)?,
        payload: row.get(8)?,
        body: row.get::<_, Option<String>>(9)?.map(|_| digest(row, 9)).transpose()?,
        previous: digest(row, 10)?,
        hash: digest(row, 11)?,
    })
}

fn id(row: &Row<'_>) -> rusqlite::Result<Id> {
    row.get::<_, String>(0).map(Id::from_text)
}

/// A hash in a column.
pub(super) fn digest(row: &Row<'_>, column: usize) -> rusqlite::Result<Digest> {
    let text: String = row.get(column)?;
    let what = "not a hash".into();
    Digest::parse(&text)
        .ok_or_else(|| rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, what))
}
