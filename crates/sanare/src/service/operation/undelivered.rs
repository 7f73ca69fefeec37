//! Messages that nobody has taken: delivery that is down is seen, and what was to be told is not lost (S113).

use sanare_core::port::StoreFault;
use sanare_core::service::run::MessageKind;
use sanare_core::service::{Delivery, DeliveryState, Moment};

use crate::service::Healer;

/// Messages that are looked at.
const MESSAGES: usize = 100;

/// A message that was tried and that nobody has taken.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Undelivered {
    /// Its id.
    pub message: String,
    /// What it is.
    pub kind: MessageKind,
    /// What it is about.
    pub incident: String,
    /// Since when it is to be told.
    pub since: Moment,
    /// Whether every way has failed for good.
    pub given_up: bool,
    /// How it stands on each route that it was tried by.
    pub routes: Vec<Delivery>,
}

impl Healer {
    /// Messages to people that were tried and that no route has taken, newest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn undelivered(&self) -> Result<Vec<Undelivered>, StoreFault> {
        let found = self.store().undelivered(MESSAGES)?;
        let told = found.into_iter().map(|(message, routes)| Undelivered {
            message: message.key,
            kind: message.kind,
            incident: message.incident.to_string(),
            since: message.at,
            given_up: routes.iter().all(|one| one.state == DeliveryState::Failed || one.is_last()),
            routes,
        });
        Ok(told.collect())
    }
}

impl std::fmt::Display for Undelivered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tried: Vec<String> = self
            .routes
            .iter()
            .map(|one| {
                let why = one.why.as_ref().map(|why| format!(", {why}")).unwrap_or_default();
                format!("{} ({} of {}{why})", one.route, one.tries, Delivery::most())
            })
            .collect();
        let how = if self.given_up { "could not be told" } else { "is not told yet" };
        write!(f, "{} of {} {how}: {}", self.kind, self.incident, tried.join("; "))
    }
}
