//! Asking a provider for real: one kept connection, every wait bounded, nothing followed, nothing believed.
//!
//! What does not live here: what is asked and what an answer means (core's `model`), and any decision to ask.

mod cassette;
mod client;
#[cfg(unix)]
mod command;
pub(crate) mod connect;
pub(crate) mod http;
pub mod key;
mod lookup;
mod proxy;
pub(crate) mod stream;
mod tls;

pub use client::{RealModel, real};
pub use key::key_of;
