//! The real clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use sanare_core::port::Clock;

/// Wall clock, a clock that never goes back, and the system's chance.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// A clock that counts from now.
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn chance(&self) -> u128 {
        // Each `RandomState` is keyed from the system's randomness; two of them give more bits than an id needs.
        use std::hash::{BuildHasher as _, RandomState};
        let high = u128::from(RandomState::new().hash_one(self.now()));
        let low = u128::from(RandomState::new().hash_one(std::process::id()));
        (high << 64) | low
    }
}
