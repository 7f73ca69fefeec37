//! Scripted twins of the ports, for the scenarios and for whoever tests against the engine.

pub mod subject;
pub mod target;

pub use subject::ScriptedSubject;
pub use target::ScriptedTarget;

use std::cell::Cell;

use crate::hash::Digest;
use crate::incident::ProposerName;
use crate::port::target::Placed;
use crate::port::{Ask, Clock, Proposer, Seal, StoreFault, Subject, Verified, Verifier};
use crate::proposal::{Candidate, Declined};

/// A key that is a word: bytes are only turned round under it, with their digest before them.
#[derive(Debug)]
pub struct ScriptedSeal(pub &'static str);

impl Seal for ScriptedSeal {
    fn seal(&self, about: &str, plain: &[u8]) -> Result<Vec<u8>, StoreFault> {
        let mark = self.mark(about, plain)?.into_bytes();
        Ok(mark.into_iter().chain(plain.iter().map(|byte| !byte)).collect())
    }

    fn open(&self, about: &str, sealed: &[u8]) -> Result<Vec<u8>, StoreFault> {
        let other = || StoreFault::Sealed("another key".to_owned());
        let (mark, body) = sealed.split_at_checked(64).ok_or_else(other)?;
        let plain: Vec<u8> = body.iter().map(|byte| !byte).collect();
        if self.mark(about, &plain)?.as_bytes() == mark { Ok(plain) } else { Err(other()) }
    }

    fn mark(&self, about: &str, plain: &[u8]) -> Result<String, StoreFault> {
        Ok(Digest::of_parts(&[self.0.as_bytes(), about.as_bytes(), plain]).to_string())
    }
}

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
    fn verify(&mut self, _placed: &Placed, _time_left_ms: u64, _gone: &mut dyn FnMut() -> bool) -> Verified {
        self.asked += 1;
        self.answer.clone()
    }
}
