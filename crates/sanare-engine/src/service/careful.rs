//! What is asked of adapters and probes, which may be the owner's own: one that breaks down has answered what stops, and the
//! loop goes on (S90).

use std::panic::{AssertUnwindSafe, catch_unwind};

use sanare_core::service::job::{EVERY, Following, JobState, longest};
use sanare_core::service::port::{Acted, Adapter, Answered, Availability, Intent, Probe};
use sanare_core::service::target::Identity;
use sanare_core::service::word::{Effect, Health};
use sanare_core::service::{GateCheck, Receipt, Text, WorldState};

const BROKE_DOWN: &str = "the adapter broke down";

/// Whether it can be used now; one that cannot even say so cannot.
pub(crate) fn available(adapter: &dyn Adapter) -> Availability {
    calm(|| adapter.available()).unwrap_or_else(|| Availability::Unavailable(Text::of(BROKE_DOWN)))
}

/// What its target is; nothing where that cannot be read.
pub(crate) fn identity(adapter: &dyn Adapter) -> Identity {
    calm(|| adapter.identity()).unwrap_or_default()
}

/// The checks of its gates; a rehearsal that breaks down has failed.
pub(crate) fn rehearse(adapter: &dyn Adapter, intent: &Intent) -> Vec<GateCheck> {
    let broken = || vec![GateCheck::failed("preconditions", "rehearsal", BROKE_DOWN)];
    calm(|| adapter.rehearse(intent)).unwrap_or_else(broken)
}

/// Acts; of one that breaks down nobody knows what it has done.
pub(crate) fn act(adapter: &dyn Adapter, intent: &Intent) -> Acted {
    calm(|| adapter.act(intent)).unwrap_or_else(|| Acted::plain(Effect::Unknown))
}

/// What the world says of an act.
pub(crate) fn state(adapter: &dyn Adapter, receipt: &Receipt) -> WorldState {
    calm(|| adapter.state(receipt)).unwrap_or(WorldState::CannotTell)
}

/// How its jobs are followed. Where that cannot be said, what was asked for counts as under way for as long as it may be.
pub(crate) fn follows(adapter: &dyn Adapter) -> Option<Following> {
    let unknown = || longest(adapter.declaration().action).map(|within| Following { every: EVERY, within });
    calm(|| adapter.follows()).unwrap_or_else(unknown)
}

/// How a job stands.
pub(crate) fn job(adapter: &dyn Adapter, receipt: &Receipt, job: Option<&str>) -> JobState {
    calm(|| adapter.job(receipt, job)).unwrap_or_else(|| JobState::CannotTell(Text::of(BROKE_DOWN)))
}

/// What a probe gets.
pub(crate) fn ask(probe: &dyn Probe) -> Answered {
    let broken = || Answered {
        health: Health::Unknown,
        identity: Identity::default(),
        millis: 0,
        detail: Some(Text::of("the probe broke down")),
    };
    calm(|| probe.ask()).unwrap_or_else(broken)
}

fn calm<T>(asked: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(asked)).ok()
}
