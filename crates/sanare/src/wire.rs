//! Real adapters behind the engine's ports.

pub mod clock;
pub mod drift;
pub mod home;
pub mod model;
pub mod settings;
pub mod target;
