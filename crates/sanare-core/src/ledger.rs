//! The ledger: append-only, hash-chained, redacted on entry.

pub mod v1;

pub use v1::{ChainBreak, Entry, Record, verify};
