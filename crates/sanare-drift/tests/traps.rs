//! The trap suite (C144): names that look alike and must never be mapped, and names that must.

#[path = "traps/desk.rs"]
mod desk;
#[path = "traps/generated.rs"]
mod generated;
#[path = "traps/look_alikes.rs"]
mod look_alikes;
#[path = "traps/rules.rs"]
mod rules;
#[path = "traps/words.rs"]
mod words;
