//! Order: the loop of one incident, step by step, each recorded before the next begins; and recovery at the next start.
//!
//! What does not live here: SQL, files, processes, Python, Rust's clock. The engine calls ports and says what comes next.

pub mod advance;
pub mod answer;
pub mod recorded;
pub mod recover;
pub mod replay;
pub mod run;
pub mod service;
mod stage;

pub use run::{Case, Ended, Fault, World, run};
pub use stage::judge::{changed_lines, facts};
