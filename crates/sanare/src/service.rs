//! Service healing in one process: the client that a service reports to, and the healer that watches and heals it.
//!
//! What does not live here: detection, decisions, the order of steps, SQL, and how an act is done. This wires them.

mod accounts;
mod agent;
mod asking;
mod calm;
mod client;
mod courier;
mod detectors;
mod gather;
mod gate;
mod hands;
mod healer;
mod jobs;
mod house;
pub(crate) mod memoir;
mod logs;
mod operation;
mod pulse;
mod queue;
mod references;
mod series;
mod reminder;
mod setup;
mod upkeep;
mod sound;
mod timed;
pub mod story;
mod watch;
#[cfg(test)]
mod tests;

pub use accounts::{Account, Intake};
pub use asking::Asking;
pub use client::{More, Options, Service};
pub use detectors::detectors;
pub use hands::{Capability, Function};
pub use healer::{Healer, NotMadeHealer, Pass, Tools};
pub use operation::{
    Asked, Changed, Checked, Detected, Export, Hushed, NotAnswered, NotByPerson, NotFound, NotGiven, NotLifted,
    NotMarked, NotObserved, NotReloaded, NotReplayed, NotSilenced, NotSimulated, NotStarted, Simulated, Target, Told,
    Undelivered, WouldOpen, checked, simulate, word,
};
pub use queue::Stats;
pub use references::{Learned, NotLearned};
pub use sanare_detect::drift::reference::{Cell, Cells};
pub use setup::{Setup, UnknownService};
