//! The receipts' rows. What is read back is checked against its hash: an altered original is never handed out.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::port::{Seal, StoreFault};
use sanare_core::receipt::{Receipt, ReceiptState};
use sanare_core::redact::Redactor;

use super::ledger::digest;
use super::{Trouble, number, stored};

/// The function's texts of a receipt as they lie here: as they are, or sealed where one of them holds a secret (C41).
pub(super) struct Texts {
    original: Vec<u8>,
    replacement: Vec<u8>,
    text: Vec<u8>,
    sealed: bool,
}

impl Texts {
    pub(super) fn of(seal: &dyn Seal, receipt: &Receipt) -> Result<Self, Trouble> {
        let (original, replacement, text) = (&receipt.original, &receipt.replacement, receipt.text.as_bytes());
        let sealed = [original, replacement, text].iter().any(|bytes| holds_secret(bytes));
        let kept = |what: &str, bytes: &[u8]| match sealed {
            true => seal.seal(&about(what, receipt.incident.as_str()), bytes),
            false => Ok(bytes.to_vec()),
        };
        Ok(Self {
            original: kept("original", original)?,
            replacement: kept("replacement", replacement)?,
            text: kept("text", text)?,
            sealed,
        })
    }
}

fn holds_secret(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    Redactor::standard().text(&text).as_ref().as_str() != text.as_ref()
}

fn about(what: &str, incident: &str) -> String {
    format!("{what} of {incident}")
}

/// Keeps a receipt under the place of its ledger record.
pub(super) fn keep(transaction: &Transaction<'_>, seq: u64, receipt: &Receipt, texts: &Texts) -> Result<(), Trouble> {
    transaction.prepare_cached(include_str!("../../sql/sqlite/receipt_keep.sql"))?.execute(params![
        stored(seq)?,
        receipt.incident.as_str(),
        receipt.path,
        receipt.function,
        receipt.before.as_str(),
        receipt.after.as_str(),
        texts.original,
        Digest::of(&receipt.original).as_str(),
        texts.replacement,
        Digest::of(&receipt.replacement).as_str(),
        stored(receipt.start as u64)?,
        word(receipt.state),
        stored(receipt.at)?,
        receipt.fingerprint,
        receipt.code,
        as_kept(&texts.text, texts.sealed),
        texts.sealed,
    ])?;
    Ok(())
}

/// A text column holds text, unless it is sealed.
fn as_kept(bytes: &[u8], sealed: bool) -> rusqlite::types::Value {
    match sealed {
        true => rusqlite::types::Value::Blob(bytes.to_vec()),
        false => rusqlite::types::Value::Text(String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// Sets the state of an incident's newest receipt; without one there is nothing to set.
pub(super) fn settle(transaction: &Transaction<'_>, incident: &Id, state: ReceiptState) -> Result<(), Trouble> {
    transaction
        .prepare_cached(include_str!("../../sql/sqlite/receipt_settle.sql"))?
        .execute(params![incident.as_str(), word(state)])?;
    Ok(())
}

/// The newest receipt of an incident.
pub(super) fn of_incident(connection: &Connection, seal: &dyn Seal, incident: &Id) -> Result<Option<Receipt>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/receipt_of_incident.sql"))?;
    let found = statement.query_row(params![incident.as_str()], receipt).optional()?;
    found.map(|kept| checked(kept, seal)).transpose()
}

/// Receipts in a state, oldest first.
pub(super) fn in_state(connection: &Connection, seal: &dyn Seal, state: ReceiptState) -> Result<Vec<Receipt>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/receipts_in_state.sql"))?;
    readable(statement.query_map(params![word(state)], receipt)?, seal)
}

/// Receipts of repairs of a function of a file that are in force, oldest first.
pub(super) fn of_function(
    connection: &Connection,
    seal: &dyn Seal,
    path: &str,
    function: &str,
) -> Result<Vec<Receipt>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/receipts_of_function.sql"))?;
    readable(statement.query_map(params![path, function], receipt)?, seal)
}

/// Receipts of repairs of this code that are in force or being put there, newest first.
pub(super) fn of_code(connection: &Connection, seal: &dyn Seal, code: &str) -> Result<Vec<Receipt>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/receipts_of_code.sql"))?;
    readable(statement.query_map(params![code], receipt)?, seal)
}

/// The receipts of these rows. One that was sealed with a key that is not here is nothing that could be acted on.
fn readable(rows: impl Iterator<Item = rusqlite::Result<Kept>>, seal: &dyn Seal) -> Result<Vec<Receipt>, Trouble> {
    let mut found = Vec::new();
    for row in rows {
        match checked(row?, seal) {
            Ok(receipt) => found.push(receipt),
            Err(Trouble::Fault(StoreFault::Sealed(_))) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(found)
}

struct Kept {
    receipt: Receipt,
    /// As it lies here.
    text: Vec<u8>,
    sealed: bool,
    original_hash: Digest,
    replacement_hash: Digest,
}

fn checked(mut kept: Kept, seal: &dyn Seal) -> Result<Receipt, Trouble> {
    if kept.sealed {
        let incident = kept.receipt.incident.to_string();
        let open = |what: &str, bytes: &[u8]| seal.open(&about(what, &incident), bytes);
        kept.receipt.original = open("original", &kept.receipt.original)?;
        kept.receipt.replacement = open("replacement", &kept.receipt.replacement)?;
        kept.text = open("text", &kept.text)?;
    }
    kept.receipt.text = String::from_utf8_lossy(&kept.text).into_owned();
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
        text: String::new(),
        before: digest(row, 3)?,
        after: digest(row, 4)?,
        original: row.get(5)?,
        replacement: row.get(7)?,
        start: usize::try_from(start).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(9, i64::MAX))?,
        state: state(&row.get::<_, String>(10)?),
        at: number(row, 11)?,
    };
    let text = match row.get_ref(14)? {
        rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    };
    let (original_hash, replacement_hash) = (digest(row, 6)?, digest(row, 8)?);
    Ok(Kept { receipt, text, sealed: row.get(15)?, original_hash, replacement_hash })
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
