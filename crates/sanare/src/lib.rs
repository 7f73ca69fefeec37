//! The public face of Sanare: the operations that every front offers, wired to files, store and the offline engine.
//!
//! What does not live here: decisions (core, drift, source), order (engine), SQL (store), system calls (effects), argument
//! parsing and Python objects (the doors).

pub mod operations;
pub mod report;
pub mod service;
pub mod wire;

pub use sanare_core as core;
pub use sanare_drift as drift;
pub use sanare_effects as effects;
pub use sanare_engine as engine;
pub use sanare_store as store;
