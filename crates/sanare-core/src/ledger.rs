//! The ledger: append-only, hash-chained, redacted on entry.

mod heads;
mod record;
mod v2;
mod walk;
pub mod v1;

pub use heads::Heads;
pub use record::{ChainBreak, ChainHead, Entry, Record, SYSTEM};
pub use walk::{ERASED, ERASING, Erasure, PRUNED, Seal, Walk, verify};
