//! A service that is erased is forgotten by whoever detects on it, too (S119).

use std::collections::BTreeSet;

use sanare_core::hash::Digest;
use sanare_core::port::StoreFault;
use sanare_core::service::{Application, ServiceStore};

use super::super::healer::locked;
use super::Watch;

impl Watch {
    /// Forgets the services that an erasure asks to forget; whether there was one. That it is done is kept with the rest.
    pub(super) fn forget_what_is_asked(&mut self, store: &dyn ServiceStore) -> Result<bool, StoreFault> {
        let asked = self.memoir.asked_to_forget(store)?;
        for (application, fingerprints) in &asked {
            self.forget(application, fingerprints)?;
        }
        Ok(!asked.is_empty())
    }

    fn forget(&mut self, application: &Application, fingerprints: &BTreeSet<Digest>) -> Result<(), StoreFault> {
        self.bank.bank.forget(application).map_err(|unread| StoreFault::Corrupt(unread.to_string()))?;
        self.pending.retain(|(finding, _)| finding.application != *application);
        self.owed.retain(|_, finding| finding.application != *application);
        self.histories.retain(|fingerprint, _| !fingerprints.contains(fingerprint));
        self.began.retain(|fingerprint, _| !fingerprints.contains(fingerprint));
        self.pulse.starts.forget(application);
        let mut memory = locked(&self.memory);
        memory.live.remove(application);
        memory.marks.remove(application);
        memory.serving.retain(|(of, _), _| of != application);
        memory.told.retain(|(of, _), _| of != application);
        memory.accounts.forget(application);
        memory.weather.forget(application);
        Ok(())
    }
}
