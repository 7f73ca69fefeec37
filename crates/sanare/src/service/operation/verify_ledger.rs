//! Whether the chain of records is whole (S116).

use sanare_core::ledger::ChainBreak;
use sanare_core::port::StoreFault;

use crate::service::Healer;

impl Healer {
    /// The number of records, or the first break.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn verify_ledger(&self) -> Result<Result<u64, ChainBreak>, StoreFault> {
        self.store().verify_chain()
    }
}
