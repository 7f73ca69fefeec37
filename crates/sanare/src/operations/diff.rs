//! The patch of an incident, as `git apply` takes it.

use sanare_core::port::Store;

use crate::operations::show::{self, Show};

/// The unified diff of the last candidate; empty when there was none.
///
/// # Errors
/// [`Show`].
pub fn diff(store: &dyn Store, given: &str) -> Result<String, Show> {
    Ok(show::show(store, given)?.diff)
}
