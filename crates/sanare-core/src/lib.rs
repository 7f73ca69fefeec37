//! Nouns and decisions of Sanare: values in, values out.
//!
//! What does not live here: input and output, clocks, environment, randomness, threads, SQL, Python. Time and identity
//! enter as arguments; what touches the world is a port in [`port`], a small trait that other rooms implement.

pub mod approval;
pub mod evidence;
pub mod gate;
pub mod hash;
pub mod id;
pub mod incident;
pub mod ledger;
pub mod outcome;
pub mod redact;
pub mod value;
