//! The receipts' rows. What is read back is checked against its hash: an altered original is never handed out.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::port::StoreFault;
use sanare_core::receipt::{Receipt, ReceiptState};

use super::ledger::digest;
use super::{Trouble, number, stored};

/// Keeps a receipt under the place of its ledger record.
pub(super) fn keep(transaction: &Transaction<'_>, seq: u64, receipt: &Receipt) -> Result<(), Trouble> {
    transaction.prepare_cached(include_str!("../../sql/sqlite/receipt_keep.sql"))?.execute(params![
        stored(seq)?,
        receipt.incident.as_str(),
        receipt.path,
        receipt.function,
        receipt.before.as_str(),
        receipt.after.as_str(),
        receipt.original,
        Digest::of(&receipt.original).as_str(),
        receipt.replacement,
        Digest::of(&receipt.replacement).as_str(),
        stored(receipt.start as u64)?,
        word(receipt.state),
        stored(receipt.at)?,
        receipt.fingerprint,
        receipt.code,
        receipt.text,
    ])?;
    Ok(())
}

/// Sets the state of an incident's newest receipt; without one there is nothing to set.
pub(super) fn settle(transaction: &Transaction<'_>, incident: &Id, state: ReceiptState) -> Result<(), Trouble> {
    transaction
        .prepare_cached(include_str!("../../sql/sqlite/receipt_settle.sql"))?
        .execute(params![incident.as_str(), word(state)])?;
    Ok(())
}

/// The newest receipt of an incident.
pub(super) fn of_incident(connection: &Connection, incident: &Id) -> Result<Option<Receipt>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/receipt_of_incident.sql"))?;
    let found = statement.query_row(params![incident.as_str()], receipt).optional()?;
    found.map(checked).transpose()
}

/// Receipts in a state, oldest first.
pub(super) fn in_state(connection: &Connection, state: ReceiptState) -> Result<Vec<Receipt>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/receipts_in_state.sql"))?;
    let rows = statement.query_map(params![word(state)], receipt)?;
    rows.map(|row| checked(row?)).collect()
}

/// Receipts of repairs of a function of a file that are in force, oldest first.
pub(super) fn of_function(connection: &Connection, path: &str, function: &str) -> Result<Vec<Receipt>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/receipts_of_function.sql"))?;
    let rows = statement.query_map(params![path, function], receipt)?;
    rows.map(|row| checked(row?)).collect()
}

/// Receipts of repairs of this code that are in force or being put there, newest first.
pub(super) fn of_code(connection: &Connection, code: &str) -> Result<Vec<Receipt>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/receipts_of_code.sql"))?;
    let rows = statement.query_map(params![code], receipt)?;
    rows.map(|row| checked(row?)).collect()
}

struct Kept {
    receipt: Receipt,
    original_hash: Digest,
    replacement_hash: Digest,
}

fn checked(kept: Kept) -> Result<Receipt, Trouble> {
    let whole = Digest::of(&kept.receipt.original) == kept.original_hash
        && Digest::of(&kept.receipt.replacement) == kept.replacement_hash;
    if !whole {
        let what = format!("the receipt of {} is not as it was written", kept.receipt.incident);
        return Err(StoreFault::Corrupt(what).into());
    }
    Ok(kept.receipt)
}

fn receipt(row: &Row<'_>) -> rusqlite::Result<Kept> {
    let start = number(row, 9)?;
    let receipt = Receipt {
        incident: Id::from_text(row.get::<_, String>(0)?),
        path: row.get(1)?,
        function: row.get(2)?,
        fingerprint: row.get(12)?,
        code: row.get(13)?,
        text: row.get(14)?,
        before: digest(row, 3)?,
        after: digest(row, 4)?,
        original: row.get(5)?,
        replacement: row.get(7)?,
        start: usize::try_from(start).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(9, i64::MAX))?,
        state: state(&row.get::<_, String>(10)?),
        at: number(row, 11)?,
    };
    Ok(Kept { receipt, original_hash: digest(row, 6)?, replacement_hash: digest(row, 8)? })
}

fn word(state: ReceiptState) -> &'static str {
    match state {
        ReceiptState::Planned => "planned",
        ReceiptState::Open => "open",
        ReceiptState::Done => "done",
        ReceiptState::Undone => "undone",
    }
}

/// The table admits no other word than these four.
fn state(word: &str) -> ReceiptState {
    match word {
        "planned" => ReceiptState::Planned,
        "done" => ReceiptState::Done,
        "undone" => ReceiptState::Undone,
        _ => ReceiptState::Open,
    }
}
