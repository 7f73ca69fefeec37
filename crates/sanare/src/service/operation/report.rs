//! Figures of what was detected, decided, done and healed (S115), from the store alone.

use sanare_core::port::StoreFault;
use sanare_core::service::figures::{Figures, figures};
use sanare_core::service::{Application, Moment};

use super::incidents::LOOKED_THROUGH;
use crate::service::Healer;

impl Healer {
    /// Figures of the incidents that were opened since a moment: of one service, or of all.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn report(&self, application: Option<&Application>, since: Option<Moment>) -> Result<Figures, StoreFault> {
        let mut all = Vec::new();
        for incident in self.store().newest_incidents(LOOKED_THROUGH)? {
            let wanted = application.is_none_or(|wanted| incident.application == *wanted)
                && since.is_none_or(|since| incident.opened >= since);
            if wanted {
                let records = self.store().records_of(&incident.id)?;
                all.push((incident, records));
            }
        }
        Ok(figures(&all))
    }
}
