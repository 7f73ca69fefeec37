//! Scripted twins of the ports, for the scenarios and for whoever tests against the engine.

pub mod subject;
pub mod target;

pub use subject::ScriptedSubject;
pub use target::ScriptedTarget;

use std::cell::Cell;

use crate::incident::ProposerName;
use crate::port::target::Placed;
use crate::port::{Ask, Clock, Proposer, Subject, Verified, Verifier};
use crate::proposal::{Candidate, Declined};

/// A clock that moves one millisecond at each look.
#[derive(Debug, Default)]
pub struct ScriptedClock {
    ticks: Cell<u64>,
    /// Milliseconds added to every look from now on.
    pub jump: Cell<u64>,
}

impl ScriptedClock {
    fn tick(&self) -> u64 {
        self.ticks.set(self.ticks.get() + 1 + self.jump.take());
        self.ticks.get()
    }
}

impl Clock for ScriptedClock {
    fn now(&self) -> u64 {
        1_700_000_000_000 + self.tick()
    }

    fn elapsed(&self) -> u64 {
        self.tick()
    }

    fn chance(&self) -> u128 {
        u128::from(self.tick())
    }
}

/// A proposer that gives its answers in order, then declines.
#[derive(Debug)]
pub struct ScriptedProposer {
    /// Its name.
    pub name: ProposerName,
    /// What it answers, first to last.
    pub answers: std::collections::VecDeque<Result<Candidate, Declined>>,
    /// How often it was asked, and how many rejections it was told of each time.
    pub asked: Vec<usize>,
}

impl Proposer for ScriptedProposer {
    fn name(&self) -> ProposerName {
        self.name
    }

    fn propose(&mut self, ask: &Ask<'_>, _subject: &mut dyn Subject) -> Result<Box<Candidate>, Declined> {
        self.asked.push(ask.rejections.len());
        match self.answers.pop_front() {
            Some(answer) => answer.map(Box::new),
            None => Err(Declined {
                reason: crate::outcome::Reason::NoProposer,
                summary: "the script has no more answers".to_owned(),
                report: serde_json::Value::Null,
            }),
        }
    }
}

/// A verifier that gives one answer, and counts how often it was asked.
#[derive(Debug)]
pub struct ScriptedVerifier {
    /// What it says.
    pub answer: Verified,
    /// How often it was asked.
    pub asked: usize,
}

impl Verifier for ScriptedVerifier {
    fn verify(&mut self, _placed: &Placed, _time_left_ms: u64) -> Verified {
        self.asked += 1;
        self.answer.clone()
    }
}
