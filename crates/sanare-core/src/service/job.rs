//! Jobs: what an act has asked for and what goes on without it, until it has ended (S88). Accepting is not success.

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::moment::{DAY, HOUR, Moment, SECOND};
use super::name::Version;
use super::text::Text;

/// The source of what a finished job tells.
pub const JOBS: &str = "job";
/// How often a job is asked for, in microseconds, if nobody says otherwise.
pub const EVERY: u64 = 30 * SECOND;

/// How long a request of an action may be under way, in microseconds: a day for a retraining, an hour for a roll-out.
pub fn longest(action: Action) -> Option<u64> {
    match action {
        Action::RequestRetraining => Some(DAY),
        Action::RequestRedeployment => Some(HOUR),
        _ => None,
    }
}

/// How an adapter's jobs are followed; in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Following {
    /// How often one is asked for.
    pub every: u64,
    /// When it is given up, from its request on.
    pub within: u64,
}

/// A job under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// What whoever runs it calls it; nothing where it is found by its request.
    pub id: Option<Text>,
    /// How often it is asked for, in microseconds.
    pub every: u64,
    /// When it is given up.
    pub until: Moment,
}

/// How a job stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum JobState {
    /// It waits or runs.
    Running,
    /// It has ended well.
    Done {
        /// The model that it made, where it says so; it is not live.
        candidate: Option<Version>,
    },
    /// It has ended otherwise, in its own word.
    Failed(Text),
    /// Nothing runs for the request.
    Missing,
    /// So many run for the one request.
    Many(u32),
    /// It cannot be asked now, and why.
    CannotTell(Text),
}
