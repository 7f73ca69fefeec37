//! Sealing: what may lie on a disk only in a form that nobody reads without the owner's key.

use crate::port::StoreFault;

/// A key and what is done with it. `about` names what the bytes are: sealed for one thing they do not open as another.
pub trait Seal: Send + Sync {
    /// The bytes so that only the key gives them back.
    ///
    /// # Errors
    /// [`StoreFault::Sealed`] when there is no key.
    fn seal(&self, about: &str, plain: &[u8]) -> Result<Vec<u8>, StoreFault>;

    /// The bytes that were sealed.
    ///
    /// # Errors
    /// [`StoreFault::Sealed`] when there is no key, or another one, or when the bytes are not as they were sealed.
    fn open(&self, about: &str, sealed: &[u8]) -> Result<Vec<u8>, StoreFault>;

    /// A mark by which equal bytes are told without opening them; it says nothing of them to whoever has no key.
    ///
    /// # Errors
    /// [`StoreFault::Sealed`] when there is no key.
    fn mark(&self, about: &str, plain: &[u8]) -> Result<String, StoreFault>;
}
