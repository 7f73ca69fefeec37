//! The trap suite (C144): names that look alike and must never be mapped, and names that must.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests may stop and say how it went")]

#[path = "traps/desk.rs"]
mod desk;
#[path = "traps/entries.rs"]
mod entries;
#[path = "traps/generated.rs"]
mod generated;
#[path = "traps/look_alikes.rs"]
mod look_alikes;
#[path = "traps/rules.rs"]
mod rules;
#[path = "traps/speed.rs"]
mod speed;
#[path = "traps/words.rs"]
mod words;
