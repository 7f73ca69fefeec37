//! Why policy says what it says: of a case that somebody makes up (S98).

use sanare_core::policy::{Decision, Verdict, stricter};
use sanare_core::service::Moment;
use sanare_core::service::config::{Obstacle, obstacles};
use sanare_core::service::policy::{Case, Explained, Numbers, explain, judge};

use crate::service::Healer;

impl Healer {
    /// Every rule on a case, with the verdict. The mode is the stricter of the case's, the service's and the policy's.
    pub fn explain(&self, case: &Case) -> (Decision, Vec<Explained>) {
        let now = self.clock().now();
        let policy = self.setup().policy(now);
        let numbers = Numbers::of(&policy, &case.application);
        let service = self.setup().configuration.services.get(&case.application);
        let mode = service.map_or(case.mode, |service| stricter(case.mode, service.mode));
        let case = Case { mode: stricter(mode, numbers.mode), ..case.clone() };
        (judge(&case, &numbers, &policy), explain(&case, &numbers, &policy))
    }

    /// What will never be done by itself, and why.
    pub fn obstacles(&self) -> Vec<Obstacle> {
        let now = self.clock().now();
        obstacles(&self.setup().configuration, &self.setup().policy(now), Moment::from_millis(now))
    }
}

/// The word of a verdict.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Permit => "permit",
        Verdict::Ask => "ask",
        Verdict::Refuse => "refuse",
    }
}
