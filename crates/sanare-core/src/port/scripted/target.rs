//! A target file in memory.

use std::cell::{Cell, RefCell};

use crate::gate::{Check, Gate, GateReport};
use crate::hash::Digest;
use crate::port::target::Placed;
use crate::port::{Target, TargetFault};
use crate::proposal::{Candidate, Rejection};
use crate::receipt::Receipt;

/// A file whose whole content is one function.
#[derive(Debug)]
pub struct ScriptedTarget {
    text: String,
    /// What is on the disk.
    pub disk: RefCell<String>,
    /// What the next write answers instead of writing.
    pub write_fault: RefCell<Option<TargetFault>>,
    /// The owner's stop switch.
    pub stop: Cell<bool>,
    /// Why the file cannot be written.
    pub unwritable: Option<String>,
    /// How often another part of the file changes before this one is written.
    pub moves: Cell<u32>,
}

impl ScriptedTarget {
    /// A file with this text.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            disk: RefCell::new(text.to_owned()),
            write_fault: RefCell::new(None),
            stop: Cell::new(false),
            unwritable: None,
            moves: Cell::new(0),
        }
    }
}

impl Target for ScriptedTarget {
    fn path(&self) -> &str {
        "/project/job.py"
    }

    fn module(&self) -> &str {
        &self.text
    }

    fn vet(&self, candidate: &Candidate, rejected: &[Rejection]) -> GateReport {
        let failed = |gate, name: &str| vec![Check::failed(gate, name, "scripted")];
        let checks = match candidate.function.as_str() {
            text if text.contains("os.system") => failed(Gate::Safety, "no_forbidden_names"),
            text if rejected.iter().any(|old| old.function == text) => failed(Gate::Overfit, "not_rejected_before"),
            _ => [Gate::Syntax, Gate::Fence, Gate::Overfit, Gate::Safety]
                .map(|gate| Check::passed(gate, "scripted"))
                .into(),
        };
        GateReport { checks }
    }

    fn place(&self, candidate: &Candidate) -> Result<Placed, Check> {
        if candidate.function.contains("unencodable") {
            return Err(Check::failed(Gate::Syntax, "encodes", "scripted"));
        }
        Ok(Placed {
            module: candidate.function.clone(),
            text: candidate.function.clone(),
            before: Digest::of(self.text.as_bytes()),
            after: Digest::of(candidate.function.as_bytes()),
            start: 0,
            original: self.text.clone().into_bytes(),
            replacement: candidate.function.clone().into_bytes(),
            diff: format!("-{}\n+{}\n", self.text, candidate.function),
        })
    }

    fn unwritable(&self) -> Option<String> {
        self.unwritable.clone()
    }

    fn digest_now(&self) -> Option<Digest> {
        if self.moves.get() > 0 {
            return Some(Digest::of(b"another function of the file is another one"));
        }
        Some(Digest::of(self.disk.borrow().as_bytes()))
    }

    fn write(&self, receipt: &Receipt) -> Result<(), TargetFault> {
        if let Some(fault) = self.write_fault.borrow_mut().take() {
            return Err(fault);
        }
        if self.digest_now().as_ref() != Some(&receipt.before) {
            return Err(TargetFault::Changed);
        }
        *self.disk.borrow_mut() = String::from_utf8_lossy(&receipt.replacement).into_owned();
        Ok(())
    }

    fn restore(&self, receipt: &Receipt) -> Result<(), TargetFault> {
        if self.digest_now().as_ref() != Some(&receipt.after) {
            return Err(TargetFault::Changed);
        }
        *self.disk.borrow_mut() = String::from_utf8_lossy(&receipt.original).into_owned();
        Ok(())
    }

    fn moved_on(&mut self) -> bool {
        let moves = self.moves.get();
        self.moves.set(moves.saturating_sub(1));
        moves > 0
    }

    fn stopped(&self) -> bool {
        self.stop.get()
    }
}
