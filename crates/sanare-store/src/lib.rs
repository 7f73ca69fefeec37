//! Memory: the one room that contains SQL. [`Sqlite`] is the store that stays; [`Memory`] is its twin for tests and for
//! programs that may keep nothing.
//!
//! What does not live here: the form of a ledger record and its hash ([`sanare_core::ledger`]), what is worth keeping,
//! when something expires. Time enters as an argument. Text arrives redacted, by type.

mod memory;
mod sqlite;
mod standing;

pub use memory::Memory;
pub use sqlite::Sqlite;

/// Bytes of all shapes of a function together.
pub const SHAPE_BYTES: usize = 64 * 1024;
