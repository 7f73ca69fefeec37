//! Whether the ledger's chain holds.

use sanare_core::ledger::ChainBreak;
use sanare_core::port::{Store, StoreFault};

/// The number of records, or the first break of the chain.
///
/// # Errors
/// [`StoreFault`].
pub fn verify_ledger(store: &dyn Store) -> Result<Result<u64, ChainBreak>, StoreFault> {
    store.verify()
}
