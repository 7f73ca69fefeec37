//! The callback adapter: a function of the owner's own program, called on a thread of its own (S16, S78).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sanare_core::id::Id;
use sanare_core::service::declaration::Declaration;
use sanare_core::service::gates::GateCheck;
use sanare_core::service::port::{Acted, Adapter, Availability, Intent, Probe};
use sanare_core::service::receipt::{Receipt, WorldState};
use sanare_core::service::target::Identity;
use sanare_core::service::word::Effect;
use sanare_core::service::{Invalid, Text};

use super::adapter::{fenced, identity_of, told, without_dry_run};
use super::begin::begin;
use super::world;

/// How a callback ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It says that it was done.
    Done,
    /// It says that nothing was begun.
    NotStarted,
    /// It says that the target declined.
    Refused,
    /// It failed; only the type of its error is kept.
    Failed(String),
}

/// The owner's function.
pub type Function = dyn Fn(&Intent) -> End + Send + Sync;

/// A callback.
pub struct Callback {
    function: Arc<Function>,
    declaration: Declaration,
    identity: Option<Arc<dyn Probe>>,
    calls: Arc<Mutex<Calls>>,
}

/// What was called for which receipt.
#[derive(Default)]
struct Calls {
    running: Option<Id>,
    ended: Vec<(Id, Effect)>,
}

/// Ends of calls that are remembered.
const REMEMBERED: usize = 64;

impl Callback {
    /// A callback.
    ///
    /// # Errors
    /// [`Invalid`] for a fence without a probe.
    pub fn new(
        function: Arc<Function>,
        declaration: Declaration,
        identity: Option<Arc<dyn Probe>>,
    ) -> Result<Self, Invalid> {
        if !declaration.fence.is_empty() && identity.is_none() {
            return Err(Invalid::new("fence", "needs a probe that reads what it compares"));
        }
        Ok(Self { function, declaration, identity, calls: Arc::default() })
    }

    fn calls(&self) -> std::sync::MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Adapter for Callback {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn available(&self) -> Availability {
        match self.calls().running {
            Some(_) => Availability::Unavailable(Text::of("the callback is still at work")),
            None => Availability::Available,
        }
    }

    fn identity(&self) -> Identity {
        identity_of(self.identity.as_ref())
    }

    fn rehearse(&self, _: &Intent) -> Vec<GateCheck> {
        let gate = "preconditions";
        without_dry_run(match self.available() {
            Availability::Available => GateCheck::passed(gate, "free"),
            Availability::Unavailable(why) => GateCheck::failed(gate, "free", why.as_str()),
        })
    }

    fn act(&self, intent: &Intent) -> Acted {
        if let Some(fenced) = fenced(&self.declaration, intent, || self.identity()) {
            return fenced;
        }
        {
            let mut calls = self.calls();
            if calls.running.is_some() {
                return told(Effect::NotStarted, "the callback is still at work for another receipt");
            }
            calls.running = Some(intent.receipt_id.clone());
        }
        let (sender, receiver) = channel();
        let (function, calls, own) = (Arc::clone(&self.function), Arc::clone(&self.calls), intent.clone());
        let thread = std::thread::Builder::new().name("sanare-callback".to_owned());
        let work = move || {
            let end =
                catch_unwind(AssertUnwindSafe(|| function(&own))).unwrap_or_else(|_| End::Failed("panic".to_owned()));
            let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.running = None;
            if calls.ended.len() == REMEMBERED {
                calls.ended.remove(0);
            }
            calls.ended.push((own.receipt_id, effect(&end)));
            drop(calls);
            // Nobody may be listening any more: then the end is what `state` knows.
            let _ = sender.send(end);
        };
        let why = match begin(|| thread.spawn(work)) {
            Some(Ok(_)) => None,
            Some(Err(_)) => Some("no thread could be started"),
            None => Some("the stop switch is set, or cannot be read"),
        };
        if let Some(why) = why {
            self.calls().running = None;
            return told(Effect::NotStarted, why);
        }
        let timeout = Duration::from_millis(intent.timeout_ms.min(self.declaration.timeout_ms));
        match receiver.recv_timeout(timeout) {
            Ok(End::Failed(name)) => Acted { reference: Some(Text::of(&name)), ..Acted::plain(Effect::Unknown) },
            Ok(end) => Acted::plain(effect(&end)),
            Err(_) => told(Effect::Unknown, "the callback had not ended when the time was over"),
        }
    }

    /// What a probe shows, else what the function itself said when it ended for this very receipt.
    fn state(&self, receipt: &Receipt) -> WorldState {
        if self.identity.is_some() {
            return world::compare(receipt, &self.identity());
        }
        let calls = self.calls();
        let ended = calls.ended.iter().find(|(id, _)| *id == receipt.id);
        match ended {
            Some((_, Effect::Done)) => WorldState::After,
            Some((_, Effect::NotStarted | Effect::Refused)) => WorldState::Before,
            Some((_, Effect::Unknown)) | None => WorldState::CannotTell,
        }
    }
}

fn effect(end: &End) -> Effect {
    match end {
        End::Done => Effect::Done,
        End::NotStarted => Effect::NotStarted,
        End::Refused => Effect::Refused,
        End::Failed(_) => Effect::Unknown,
    }
}

#[cfg(test)]
mod tests;
