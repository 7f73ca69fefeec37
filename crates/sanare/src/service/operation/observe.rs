//! A reading that a person or a script reports: it is stored at once, and every healer of the store looks at it (S140).

use sanare_core::id::Id;
use sanare_core::service::run::Change;
use sanare_core::service::{Draft, Invalid, Moment, NotMade, Observation, Source, Stamp, Trust};

use crate::service::detectors::COMMAND;
use crate::service::{Healer, UnknownService};

/// Why a reading was not taken.
#[derive(Debug, thiserror::Error)]
pub enum NotObserved {
    /// Nothing would watch it.
    #[error(transparent)]
    Unknown(#[from] UnknownService),
    /// It cannot be.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// It could not be stored.
    #[error(transparent)]
    NotMade(#[from] NotMade),
}

impl Healer {
    /// Takes a reading: it is on the disk when this returns. One without a time is true now.
    ///
    /// # Errors
    /// [`NotObserved`]; then nothing is stored.
    pub fn observe(&self, draft: Draft) -> Result<Observation, NotObserved> {
        self.setup().has(&draft.application)?;
        let clock = self.clock();
        let now = Moment::from_millis(clock.now());
        let stamp = Stamp {
            id: Id::new("obs", clock.now(), clock.chance()),
            arrival: now,
            source: Source::parse(COMMAND)?,
            trust: Trust::Own,
        };
        // What is not said to be the same reading is another one.
        let source_id = draft.source_id.clone().or_else(|| Some(stamp.id.to_string()));
        let event_time = draft.event_time.or(Some(now));
        let seen = Observation::accept(Draft { source_id, event_time, ..draft }, stamp)?;
        let change = Change { now: now.millis(), observations: vec![seen.clone()], ..Change::default() };
        self.store().commit(&change)?;
        Ok(seen)
    }
}
