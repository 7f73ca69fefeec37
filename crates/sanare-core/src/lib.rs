//! Nouns and decisions of Sanare: values in, values out.
//!
//! What does not live here: input and output, clocks, environment, randomness, threads, SQL, Python. Time and identity
//! enter as arguments; what touches the world is a port in [`port`], a small trait that other rooms implement.

pub mod value;
pub mod hash;
pub mod id;
pub mod outcome;
pub mod evidence;
pub mod classify;
pub mod incident;
pub mod proposal;
pub mod gate;
pub mod approval;
pub mod policy;
pub mod receipt;
pub mod step;
pub mod ledger;
pub mod port;
pub mod redact;
pub mod settings;
pub mod model;
pub mod service;
