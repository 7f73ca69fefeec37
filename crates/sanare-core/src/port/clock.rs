//! Time and chance.

/// The clock of one incident.
pub trait Clock {
    /// Milliseconds since 1970, by the wall.
    fn now(&self) -> u64;
    /// Milliseconds on a clock that never goes back, for deadlines.
    fn elapsed(&self) -> u64;
    /// 80 bits of chance, for ids.
    fn chance(&self) -> u128;
}
