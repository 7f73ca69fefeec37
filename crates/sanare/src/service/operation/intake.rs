//! What came in by each door, and what became of it (S35).

use sanare_core::port::StoreFault;

use crate::service::Healer;
use crate::service::accounts::{Accounts, Intake};
use crate::service::healer::locked;
use crate::service::memoir::INTAKE;

impl Healer {
    /// What came in by each door of each service. A healer that has not watched yet tells what was kept last, at most half a
    /// minute ago, by the one that does.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn intake(&self) -> Result<Vec<Intake>, StoreFault> {
        let memory = self.memory();
        let own = locked(&memory).accounts.clone();
        if own != Accounts::default() {
            return Ok(own.all());
        }
        let kept = self.store().states(INTAKE)?.pop();
        let kept = kept.and_then(|(_, bytes)| serde_json::from_slice::<Accounts>(&bytes).ok());
        Ok(kept.unwrap_or_default().all())
    }
}
