//! Time and chance.

/// The clock of one incident.
pub trait Clock {
    /// Milliseconds since 1970, by the wall.
    fn now(&self) -> u64;
    /// Milliseconds on a clock that never goes back, for deadlines.
    fn elapsed(&self) -> u64;
    /// Whether it could not tell when it was asked last, so that what it said is an older time: nothing is done by such a
    /// time, and nothing is dated by it.
    fn is_broken(&self) -> bool {
        false
    }
    /// 80 bits of chance, for ids.
    fn chance(&self) -> u128;
}
