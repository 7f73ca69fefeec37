//! Detectors: streams of observations in, conditions out, and what keeps them quiet.
//!
//! What does not live here: clocks, chance, input and output, the order of steps, SQL. A detector is a function of state,
//! input and settings; its state is saved and loaded, and the same stream gives the same events however it is cut (S36).

pub mod reading;
pub mod order;
pub mod presence;
pub mod hold;
pub mod window;
pub mod threshold;
pub mod budget;
pub mod health;
pub mod drift;
pub mod quality;
pub mod fingerprint;
pub mod bank;
pub mod group;
pub mod silence;
pub mod flapping;
pub mod storm;
pub mod quiet;
