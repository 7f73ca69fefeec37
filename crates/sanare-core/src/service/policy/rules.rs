//! The built-in rules, one file each (S95). Joining them is one line here.

mod stopped;
mod policy_unreadable;
mod store_error;
mod clock_jump;
mod mode_observe;
mod mode_ask;
mod unmapped;
mod forbidden;
mod truth_elsewhere;
mod in_storm;
mod attempts;
mod tried;
mod always_ask;
mod confidence;
mod unmeasured;
mod fallback;
mod no_evidence;
mod cooldown;
mod windows;
mod blast_radius;
mod blast_spread;
mod chronic;
mod flapping;
mod unfenced;
mod unverifiable;
mod irreversible;
mod gate_skipped;

pub use clock_jump::STEADY_MS;

use super::BuiltIn;

/// All of them, in the order of the manual.
pub const ALL: &[BuiltIn] = &[
    stopped::RULE,
    policy_unreadable::RULE,
    store_error::RULE,
    clock_jump::RULE,
    mode_observe::RULE,
    mode_ask::RULE,
    unmapped::RULE,
    forbidden::RULE,
    truth_elsewhere::RULE,
    in_storm::RULE,
    attempts::RULE,
    tried::RULE,
    always_ask::RULE,
    confidence::RULE,
    unmeasured::RULE,
    fallback::RULE,
    no_evidence::RULE,
    cooldown::RULE,
    windows::RULE,
    blast_radius::RULE,
    blast_spread::RULE,
    chronic::RULE,
    flapping::RULE,
    unfenced::RULE,
    unverifiable::RULE,
    irreversible::RULE,
    gate_skipped::RULE,
];
