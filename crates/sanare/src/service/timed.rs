//! Detectors by a time that never jumped: what the wall clock was set by since is taken off before, and put on again after
//! (S34). Windows that are under way are neither skipped nor made longer.

use std::borrow::Cow;

use sanare_core::service::{Application, Component, Moment, Observation};
use sanare_detect::bank::{Bank, Finding, Noted};

/// A bank with its time.
pub(super) struct Timed {
    /// The detectors.
    pub bank: Bank,
    /// Milliseconds by which the clock was set since they began.
    pub set_by: i64,
}

impl Timed {
    /// Takes an observation.
    pub fn observe(&mut self, observation: &Observation) -> Noted {
        let mut noted = self.bank.observe(&taken_off(observation, self.set_by));
        noted.findings.iter_mut().for_each(|finding| put_on(finding, self.set_by));
        noted
    }

    /// Time has come to `now`.
    pub fn tick(&mut self, now: Moment) -> Vec<Finding> {
        let mut findings = self.bank.tick(self.own(now));
        findings.iter_mut().for_each(|finding| put_on(finding, self.set_by));
        findings
    }

    /// A process was seen to be started.
    pub fn started(&mut self, application: &Application, component: &Component, now: Moment) -> Option<Finding> {
        let mut finding = self.bank.started(application, component, self.own(now));
        finding.iter_mut().for_each(|finding| put_on(finding, self.set_by));
        finding
    }

    /// A moment as the detectors know it.
    pub fn own(&self, moment: Moment) -> Moment {
        moved(moment, -self.set_by)
    }
}

/// An observation by the detectors' time.
pub(super) fn taken_off(observation: &Observation, set_by: i64) -> Cow<'_, Observation> {
    if set_by == 0 {
        return Cow::Borrowed(observation);
    }
    let mut own = observation.clone();
    own.event_time = moved(own.event_time, -set_by);
    own.arrival_time = moved(own.arrival_time, -set_by);
    Cow::Owned(own)
}

/// A finding by the clock's time.
pub(super) fn put_on(finding: &mut Finding, set_by: i64) {
    finding.change.at = moved(finding.change.at, set_by);
}

/// A moment, so many milliseconds later.
pub(super) fn moved(moment: Moment, by: i64) -> Moment {
    Moment::from_micros(moment.micros().saturating_add_signed(by.saturating_mul(1_000)))
}
