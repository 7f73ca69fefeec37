//! Everything that can be said of a configuration without asking anybody (S138).

use std::sync::Arc;

use sanare_core::port::Clock as _;
use sanare_core::service::Moment;
use sanare_core::service::config::{Obstacle, obstacles};
use sanare_core::settings::Trouble;

use crate::service::calm::Calm;
use crate::service::hands::Hands;
use crate::service::{Setup, detectors};
use crate::wire::clock::SystemClock;

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Why the policy file cannot be used.
    pub policy_trouble: Option<String>,
    /// What will never be done by itself, and why.
    pub obstacles: Vec<Obstacle>,
}

/// Makes everything that the configuration names, asks nobody, and throws it away.
///
/// # Errors
/// Everything that detectors and adapters refuse, in the order of the lines.
pub fn checked(setup: &Setup) -> Result<Checked, Vec<Trouble>> {
    let mut troubles = detectors(setup).err().unwrap_or_default();
    troubles.extend(Calm::of(setup, Arc::default()).err().unwrap_or_default());
    troubles.extend(Hands::of(setup).err().unwrap_or_default());
    if !troubles.is_empty() {
        return Err(troubles);
    }
    let now = SystemClock::new().now();
    let policy = setup.policy(now);
    let obstacles = obstacles(&setup.configuration, &policy, Moment::from_millis(now));
    Ok(Checked { policy_trouble: policy.trouble().map(str::to_owned), obstacles })
}
