//! Real adapters behind the engine's ports.

pub mod clock;
pub mod drift;
pub mod home;
pub mod lockfile;
pub mod model;
pub mod person;
pub mod policy;
pub mod settings;
pub(crate) mod steady;
pub mod target;
pub mod verify;
pub mod zone;
