//! Any settings over stored history: what would have opened, and when (S36).

use std::sync::Arc;

use sanare_core::service::moment::SECOND;
use sanare_core::service::{Moment, Observation};

use super::finding::Finding;
use super::{Bank, Settings};

/// How often time passes in a replay, and how often at most between two observations. Findings carry the times at which
/// they were due, so that it changes none.
const STEP: u64 = 10 * SECOND;
const STEPS: u64 = 360;

/// What a replay found.
#[derive(Debug)]
pub struct Replayed {
    /// Conditions that changed, in the order in which they were found.
    pub findings: Vec<Finding>,
    /// The bank as it stands after it.
    pub bank: Bank,
    /// Observations that were not taken because there are too many signals.
    pub crowded: u64,
}

/// Feeds stored observations, in the order of their arrival, and the time between them.
pub fn replay(settings: Arc<Settings>, observations: impl IntoIterator<Item = Observation>) -> Replayed {
    let mut replayed = Replayed { findings: Vec::new(), bank: Bank::new(settings), crowded: 0 };
    let mut clock: Option<Moment> = None;
    for observation in observations {
        let now = observation.arrival_time;
        let mut due = clock.unwrap_or(now);
        let step = STEP.max(now.since(due) / STEPS);
        while due.plus(step) <= now {
            due = due.plus(step);
            replayed.findings.extend(replayed.bank.tick(due));
        }
        clock = Some(due);
        let noted = replayed.bank.observe(&observation);
        replayed.crowded += u64::from(noted.crowded);
        replayed.findings.extend(noted.findings);
    }
    replayed
}
