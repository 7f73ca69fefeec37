//! The adapters that exist, and what they share.

use std::sync::Arc;

use sanare_core::service::Text;
use sanare_core::service::declaration::{Declaration, Undo};
use sanare_core::service::gates::GateCheck;
use sanare_core::service::port::{Acted, Availability, Intent, Probe};
use sanare_core::service::receipt::Purpose;
use sanare_core::service::target::Identity;
use sanare_core::service::word::Effect;

/// Makes the list with its words: what is no member of `ALL` does not exist.
macro_rules! kinds {
    ($($(#[$doc:meta])* $member:ident = $word:literal,)*) => {
        /// An adapter that can be configured. Each passes the suite of all (S92).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $member,)*
        }

        /// All of them.
        pub const ALL: &[Kind] = &[$(Kind::$member,)*];

        impl Kind {
            /// Its name in the configuration.
            pub fn word(self) -> &'static str {
                match self { $(Self::$member => $word,)* }
            }
        }
    };
}

kinds! {
    /// A function of the owner's own program.
    Callback = "callback",
    /// A program.
    Command = "command",
    /// A request.
    Http = "http",
    /// An alias of MLflow's registry.
    Mlflow = "mlflow",
}

/// Who answers for a target, where a probe is configured.
pub(super) fn identity_of(probe: Option<&Arc<dyn Probe>>) -> Identity {
    probe.map(|probe| probe.ask().identity).unwrap_or_default()
}

/// Whether the target is still what it was when this was decided, by the marks of the fence. `None` lets the act begin.
pub(super) fn fenced(declaration: &Declaration, intent: &Intent, now: impl FnOnce() -> Identity) -> Option<Acted> {
    if declaration.fence.is_empty() {
        return None;
    }
    let now = now();
    if now.is_still(&intent.before, &declaration.fence) {
        return None;
    }
    // What cannot be read is no proof of another target, and surely nothing was sent.
    let readable = declaration.fence.iter().all(|mark| now.get(*mark).is_some());
    let (effect, why) = match readable {
        true => (Effect::Refused, "the target is not what it was when this was decided"),
        false => (Effect::NotStarted, "the target cannot be read"),
    };
    Some(told(effect, why))
}

/// Whether an intent takes an act back by cancelling its job.
pub(super) fn cancels(declaration: &Declaration, intent: &Intent) -> bool {
    intent.key.purpose == Purpose::Undo && declaration.undo == Undo::CancelJob
}

/// Whether what is declared about taking an act back is there: a way back, or a way to cancel its job.
pub(super) fn can_undo(declaration: &Declaration, back: bool, cancels: bool) -> bool {
    if declaration.undo == Undo::CancelJob { cancels } else { back }
}

/// An effect with a sentence of ours.
pub(super) fn told(effect: Effect, why: &str) -> Acted {
    Acted { output: sanare_core::service::text::Output::of(why), ..Acted::plain(effect) }
}

/// Available, or not for this reason.
pub(super) fn availability(fault: Option<String>) -> Availability {
    fault.map_or(Availability::Available, |why| Availability::Unavailable(Text::of(&why)))
}

/// The checks of an adapter that has no dry run.
pub(super) fn without_dry_run(precondition: GateCheck) -> Vec<GateCheck> {
    vec![precondition, GateCheck::skipped("dry_run", "dry_run", "the adapter has none")]
}

#[cfg(test)]
mod tests;
