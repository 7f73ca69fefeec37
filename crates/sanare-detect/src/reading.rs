//! What detectors are fed: a number at a moment, the news that it stays away, or the passing of time.

use sanare_core::service::Moment;

/// One reading of a signal. What came as NaN or infinite has no value: it counts as arrival and as nothing else (S32).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    at: Moment,
    // INVARIANT: finite.
    value: Option<f64>,
    fresh: bool,
}

impl Reading {
    /// A reading that was true at `at`.
    pub fn new(at: Moment, value: f64) -> Self {
        Self { at, value: value.is_finite().then_some(value), fresh: true }
    }

    /// The same, where nobody knows how old it is (S27).
    pub fn of_unknown_age(at: Moment, value: f64) -> Self {
        Self { fresh: false, ..Self::new(at, value) }
    }

    /// When it was true.
    pub fn at(self) -> Moment {
        self.at
    }

    /// Its number, if it is one.
    pub fn value(self) -> Option<f64> {
        self.value
    }

    /// Whether its age is known.
    pub fn is_fresh(self) -> bool {
        self.fresh
    }
}

/// One input of a detector, in the order of event times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    /// A reading in its place.
    Reading(Reading),
    /// A reading behind the watermark: it corrects what is still open, and decides nothing (S31).
    Late(Reading),
    /// The signal stays away since before this moment (S33).
    Missing(Moment),
}
