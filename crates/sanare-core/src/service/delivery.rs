//! Telling people: which way a message goes when, how often it is tried, and when nothing more can be done (S113, S132).
//!
//! A message goes by the first route that takes it. A route that has failed for good hands over to the next one, and so
//! does half an hour in which nobody has taken notice of a hand-over.

use serde::{Deserialize, Serialize};

use super::config::RouteSettings;
use super::moment::{MINUTE, Moment, SECOND};
use super::run::{Message, MessageKind};
use super::text::Text;
use super::word::words;

/// How long a hand-over waits for somebody to take notice before it goes another way too.
pub const UNNOTICED: u64 = 30 * MINUTE;

/// What lies between a try and the next: ten tries in all, the last one 23 hours after the first.
const PAUSES: [u64; 9] =
    [30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE, 45 * MINUTE, 120 * MINUTE, 360 * MINUTE, 840 * MINUTE];

words! {
    /// How a delivery stands.
    DeliveryState("delivery") {
        /// It is tried again.
        Waiting = "waiting",
        /// It was taken.
        Delivered = "delivered",
        /// It was tried as often as it may be.
        Failed = "failed",
    }
}

/// One message on one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// The route.
    pub route: String,
    /// How it stands.
    pub state: DeliveryState,
    /// Tries that were begun.
    pub tries: u32,
    /// When it is tried again.
    pub due: Moment,
    /// When it was changed last.
    pub at: Moment,
    /// Why the last try came to nothing: a class of ours, never what the other side said.
    pub why: Option<Text>,
}

impl Delivery {
    /// A try is begun. It is written down before anything is sent, so that whoever dies in it has used it up.
    #[must_use]
    pub fn begun(before: Option<&Self>, route: &str, now: Moment) -> Self {
        let tries = before.map_or(0, |before| before.tries).saturating_add(1);
        let pause = usize::try_from(tries - 1).ok().and_then(|place| PAUSES.get(place)).copied();
        Self {
            route: route.to_owned(),
            state: DeliveryState::Waiting,
            tries,
            due: now.plus(pause.unwrap_or(MINUTE)),
            at: now,
            why: before.and_then(|before| before.why.clone()),
        }
    }

    /// What came of the try that was begun.
    #[must_use]
    pub fn ended(self, came: Result<(), &str>, now: Moment) -> Self {
        let state = match came {
            Ok(()) => DeliveryState::Delivered,
            Err(_) if self.is_last() => DeliveryState::Failed,
            Err(_) => DeliveryState::Waiting,
        };
        Self { state, at: now, why: came.err().map(Text::of), ..self }
    }

    /// Whether there is no further try.
    pub fn is_last(&self) -> bool {
        usize::try_from(self.tries).is_ok_and(|tries| tries > PAUSES.len())
    }

    /// Tries that a route has in all.
    pub fn most() -> usize {
        PAUSES.len() + 1
    }
}

/// What is to be done with a message now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Routes that it is sent by now, by their places among all.
    pub send: Vec<usize>,
    /// Whether nothing more will be done with it.
    pub over: bool,
}

/// Looks how a message stands. `takes` says which routes take it, `noticed` whether a person has taken notice since: then
/// it goes no further, but what was never delivered is.
pub fn plan(
    message: &Message,
    routes: &[RouteSettings],
    takes: impl Fn(&RouteSettings) -> bool,
    deliveries: &[Delivery],
    noticed: bool,
    now: Moment,
) -> Plan {
    // A reminder goes to whom it reminds: the message itself has gone further meanwhile.
    let hands_over = message.kind == MessageKind::Escalation && message.reminder().is_none();
    let mut plan = Plan { send: Vec::new(), over: true };
    let fitting = routes.iter().enumerate().filter(|(_, route)| takes(route));
    for (turn, (place, route)) in (0_u64..).zip(fitting) {
        let known = deliveries.iter().find(|one| one.route == route.name);
        let failed = match known.map(|one| one.state) {
            Some(DeliveryState::Failed) => true,
            Some(DeliveryState::Delivered) => false,
            // The last try was begun and nothing is known of it: whoever began it has died.
            Some(DeliveryState::Waiting) if known.is_some_and(|one| one.is_last() && one.due <= now) => true,
            Some(DeliveryState::Waiting) | None => {
                plan.over = false;
                if known.is_none_or(|one| one.due <= now) {
                    plan.send.push(place);
                }
                false
            }
        };
        let unnoticed = hands_over && !noticed && now.since(message.at) >= UNNOTICED.saturating_mul(turn + 1);
        if !failed && !unnoticed {
            // A hand-over that was delivered still waits for somebody to take notice of it, if there is another way.
            let further = routes.iter().skip(place + 1).any(&takes);
            plan.over = plan.over && !(hands_over && !noticed && further);
            break;
        }
    }
    plan
}

#[cfg(test)]
mod tests;
