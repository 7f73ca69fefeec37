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

/// A bank that is fed what was stored.
#[derive(Debug)]
pub struct Replay {
    /// The bank as it stands.
    pub bank: Bank,
    /// Observations that were not taken because there are too many signals.
    pub crowded: u64,
    clock: Option<Moment>,
}

impl Replay {
    /// Goes on with a bank that stood so at a moment.
    pub fn of(bank: Bank, since: Option<Moment>) -> Self {
        Self { bank, crowded: 0, clock: since }
    }

    /// Feeds one more, and the time before it: what that time showed, and what the observation did.
    pub fn feed(&mut self, observation: &Observation) -> (Vec<Finding>, Vec<Finding>) {
        let now = observation.arrival_time;
        let mut due = self.clock.unwrap_or(now);
        let mut passed = Vec::new();
        let step = STEP.max(now.since(due) / STEPS);
        while due.plus(step) <= now {
            due = due.plus(step);
            passed.extend(self.bank.tick(due));
        }
        self.clock = Some(due);
        let noted = self.bank.observe(observation);
        self.crowded += u64::from(noted.crowded);
        (passed, noted.findings)
    }
}

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
    let mut replay = Replay::of(Bank::new(settings), None);
    let mut findings = Vec::new();
    for observation in observations {
        let (passed, own) = replay.feed(&observation);
        findings.extend(passed.into_iter().chain(own));
    }
    Replayed { findings, bank: replay.bank, crowded: replay.crowded }
}
