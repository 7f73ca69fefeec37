//! The time as a function of the owner's program tells it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use pyo3::prelude::*;
use sanare::core::port::Clock;

/// A clock of the caller's, for tests: seconds since 1970.
pub(super) struct Told {
    ask: Py<PyAny>,
    /// What it said last, and how much has passed by it: where it goes back, nothing has.
    last: AtomicU64,
    passed: AtomicU64,
    broken: AtomicBool,
}

/// Why a clock is none.
const NO_TIME: &str = "`clock` gives no time: it raised, or gave something else than the seconds since 1970";

impl Told {
    /// The clock, if it tells the time now.
    pub fn new(ask: Py<PyAny>) -> Result<Self, String> {
        let (last, passed) = (AtomicU64::default(), AtomicU64::default());
        let told = Self { ask, last, passed, broken: AtomicBool::new(false) };
        told.millis();
        if told.is_broken() { Err(NO_TIME.to_owned()) } else { Ok(told) }
    }

    /// What it says; where it says nothing, what it said last, and that it is broken.
    fn millis(&self) -> u64 {
        let seconds = Python::attach(|py| self.ask.call0(py).and_then(|told| told.extract::<f64>(py))).ok();
        let since = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let millis = since.and_then(|since| u64::try_from(since.as_millis()).ok()).filter(|millis| *millis < END);
        self.broken.store(millis.is_none(), Ordering::SeqCst);
        if let Some(millis) = millis {
            let before = self.last.swap(millis, Ordering::SeqCst);
            self.passed.fetch_add(millis.saturating_sub(before), Ordering::SeqCst);
        }
        self.last.load(Ordering::SeqCst)
    }
}

/// The year 10000, which no time of ours reaches.
const END: u64 = 253_402_300_800_000;

impl Clock for Told {
    fn now(&self) -> u64 {
        self.millis()
    }

    fn elapsed(&self) -> u64 {
        self.millis();
        self.passed.load(Ordering::SeqCst)
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::SeqCst)
    }

    fn chance(&self) -> u128 {
        sanare::wire::clock::SystemClock::new().chance()
    }
}
