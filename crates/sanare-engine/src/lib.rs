//! Order: the loop of one incident, step by step, each recorded before the next begins; and recovery at the next start.
//!
//! What does not live here: SQL, files, processes, Python, Rust's clock. The engine calls ports and says what comes next.

pub mod advance;
pub mod recover;
pub mod run;
mod stage;

pub use run::{Case, Ended, Fault, World, run};
