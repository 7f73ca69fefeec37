//! A clock that goes on by the monotonic one, whatever happens to the wall clock, until it is let follow it (S34).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sanare_core::port::Clock;

/// A jump, in milliseconds.
const JUMP: i64 = 60_000;
/// Of what has passed so much is made up for at most: clocks that are set gently are followed.
const GENTLY: u64 = 200;

/// Time as it passes.
pub(crate) struct Steady {
    inner: Arc<dyn Clock + Send + Sync>,
    state: Mutex<State>,
}

struct State {
    /// Whether it was looked at: before, nothing is under way that a jump could harm, and it tells what the wall does.
    began: bool,
    /// What it told when the monotonic clock stood at `elapsed`.
    told: u64,
    elapsed: u64,
    /// How far ahead of this the wall clock was when that was last an event.
    apart: i64,
    jump: Option<Jump>,
}

/// The wall clock moved otherwise than time did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Jump {
    /// Milliseconds since 1970 as they should be.
    pub expected: u64,
    /// As the wall clock tells them.
    pub wall: u64,
}

impl Steady {
    /// Begins with what the wall clock tells when it is first looked at.
    pub fn new(inner: Arc<dyn Clock + Send + Sync>) -> Self {
        Self { inner, state: Mutex::new(State { began: false, told: 0, elapsed: 0, apart: 0, jump: None }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares the clocks; a jump that nobody has noted yet, and whether it was found just now.
    pub fn look(&self) -> (Option<Jump>, bool) {
        let (wall, elapsed) = (self.inner.now(), self.inner.elapsed());
        let mut state = self.state();
        if self.inner.is_broken() {
            return (state.jump, false);
        }
        if !state.began {
            (state.began, state.told, state.elapsed) = (true, wall, elapsed);
            return (None, false);
        }
        let passed = elapsed.saturating_sub(state.elapsed);
        (state.told, state.elapsed) = (state.told.saturating_add(passed), elapsed);
        let ahead = difference(wall, state.told);
        let found = ahead.abs_diff(state.apart) > JUMP.unsigned_abs();
        if found {
            state.apart = ahead;
            state.jump = Some(Jump { expected: state.told, wall });
        } else if ahead.abs() <= JUMP {
            let most = i64::try_from(passed / GENTLY).unwrap_or(JUMP);
            state.told = state.told.saturating_add_signed(ahead.clamp(-most, most));
            state.apart = 0;
        }
        (state.jump, found)
    }

    /// The jump is noted.
    pub fn noted(&self) {
        self.state().jump = None;
    }

    /// Whether the wall clock tells another time.
    pub fn is_apart(&self) -> bool {
        self.state().apart.abs() > JUMP
    }

    /// How many milliseconds the wall clock is ahead, as it was found last.
    pub fn ahead(&self) -> i64 {
        self.state().apart
    }

    /// Goes on by what the wall clock tells now; by how many milliseconds that is later.
    pub fn follow(&self) -> i64 {
        let (wall, elapsed) = (self.inner.now(), self.inner.elapsed());
        let mut state = self.state();
        if self.inner.is_broken() {
            return 0;
        }
        let told = state.told.saturating_add(elapsed.saturating_sub(state.elapsed));
        (state.told, state.elapsed, state.apart) = (wall, elapsed, 0);
        difference(wall, told)
    }
}

impl Clock for Steady {
    fn now(&self) -> u64 {
        // It is asked so that it is known whether it can tell.
        let wall = self.inner.now();
        if self.inner.is_broken() {
            return wall;
        }
        let state = self.state();
        if !state.began {
            return wall;
        }
        state.told.saturating_add(self.inner.elapsed().saturating_sub(state.elapsed))
    }

    fn elapsed(&self) -> u64 {
        self.inner.elapsed()
    }

    fn is_broken(&self) -> bool {
        self.inner.is_broken()
    }

    fn chance(&self) -> u128 {
        self.inner.chance()
    }
}

fn difference(later: u64, earlier: u64) -> i64 {
    let by = i64::try_from(later.abs_diff(earlier)).unwrap_or(i64::MAX);
    if later >= earlier { by } else { -by }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

    use sanare_core::port::Clock;

    use super::{Jump, Steady};

    #[derive(Default)]
    struct Two {
        elapsed: AtomicU64,
        /// The wall clock is ahead by so much.
        ahead: AtomicI64,
    }

    impl Clock for Two {
        fn now(&self) -> u64 {
            (1_000_000_000 + self.elapsed()).saturating_add_signed(self.ahead.load(Ordering::SeqCst))
        }
        fn elapsed(&self) -> u64 {
            self.elapsed.load(Ordering::SeqCst)
        }
        fn chance(&self) -> u128 {
            0
        }
    }

    #[test]
    fn it_goes_on_whatever_the_wall_clock_does_until_it_is_let_follow() {
        for by in [3_600_000, -3_600_000, 315_360_000_000, 60_001] {
            let two = Arc::new(Two::default());
            let steady = Steady::new(two.clone());
            two.elapsed.store(5_000, Ordering::SeqCst);
            assert_eq!((steady.look(), steady.is_apart()), ((None, false), false));
            two.ahead.store(by, Ordering::SeqCst);
            assert_eq!(steady.now(), 1_000_005_000);
            let jump = Jump { expected: 1_000_005_000, wall: two.now() };
            assert_eq!((steady.look(), steady.is_apart()), ((Some(jump), true), true));
            two.elapsed.store(6_000, Ordering::SeqCst);
            assert_eq!(steady.look(), (Some(jump), false), "until it is noted, and once");
            steady.noted();
            assert_eq!((steady.look(), steady.now()), ((None, false), 1_000_006_000));
            assert_eq!((steady.follow(), steady.now(), steady.is_apart()), (by, two.now(), false));
            assert_eq!(steady.look(), (None, false));
        }
    }

    #[test]
    fn what_happens_before_it_is_looked_at_is_no_jump() {
        let two = Arc::new(Two::default());
        let steady = Steady::new(two.clone());
        two.ahead.store(-900_000_000, Ordering::SeqCst);
        assert_eq!(steady.now(), two.now());
        assert_eq!((steady.look(), steady.is_apart()), ((None, false), false));
        assert_eq!(steady.now(), two.now());
    }

    #[test]
    fn a_clock_that_stands_still_is_a_jump_each_minute_and_one_that_is_set_gently_is_followed() {
        let two = Arc::new(Two::default());
        let steady = Steady::new(two.clone());
        assert_eq!(steady.look(), (None, false));
        let mut jumps = 0;
        for second in 1..=600 {
            two.elapsed.store(second * 1_000, Ordering::SeqCst);
            two.ahead.store(-(second as i64) * 1_000, Ordering::SeqCst);
            jumps += u32::from(steady.look().1);
        }
        assert!((8..=10).contains(&jumps), "{jumps}");
        assert!(steady.now().abs_diff(1_000_600_000) <= 1_000, "time has passed: {}", steady.now());
        let steady = Steady::new(two.clone());
        assert_eq!(steady.look(), (None, false));
        for second in 600..40_000_u64 {
            two.elapsed.store(second * 1_000, Ordering::SeqCst);
            // 500 in a million is as gently as the system sets it.
            two.ahead.store(-600_000 + (second as i64 - 600) / 2, Ordering::SeqCst);
            assert!(!steady.look().1);
        }
        assert!(steady.now().abs_diff(two.now()) < 10, "{} {}", steady.now(), two.now());
        two.ahead.fetch_add(50_000, Ordering::SeqCst);
        let before = steady.now();
        two.elapsed.fetch_add(1_000, Ordering::SeqCst);
        assert_eq!(steady.look(), (None, false), "less than a minute is no jump");
        assert_eq!(steady.now() - before, 1_005);
    }
}
