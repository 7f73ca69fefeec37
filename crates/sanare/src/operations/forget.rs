//! Forgetting what was remembered of good calls (C49).

use std::path::Path;

use sanare_core::port::{Store, StoreFault};

use crate::operations::heal::function_key;

/// Forgets the shapes and calls of one function (its file and qualified name), or all of the store. Gives how many there were.
///
/// # Errors
/// [`StoreFault`].
pub fn forget(store: &dyn Store, function: Option<(&Path, &str)>) -> Result<u64, StoreFault> {
    let key = function.map(|(path, name)| function_key(&path.display().to_string(), name));
    store.forget(key.as_deref())
}
