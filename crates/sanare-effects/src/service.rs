//! The hands of service healing: adapters that act, probes that ask who answers, and pulls that read what others measured.
//!
//! What does not live here: whether, when and on what to act. Addresses, programs and names come from configuration alone.

mod client;
mod endpoint;
mod fill;
mod pointer;
mod world;
pub mod adapter;
pub mod begin;
pub mod callback;
pub mod command;
pub mod diagnostic;
pub mod follow;
pub mod http;
pub mod job;
pub mod message;
pub mod mlflow;
pub mod probe;
pub mod prometheus;

pub use endpoint::{Endpoint, Secret};

#[cfg(test)]
pub(crate) mod twin;
