//! The stores that this process has open: one a project, opened when it is needed first.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sanare::core::port::{Store, StoreFault};

/// Stores by project folder, and the process that opened them.
type Open = (u32, HashMap<PathBuf, Arc<dyn Store>>);

static OPEN: Mutex<Option<Open>> = Mutex::new(None);

/// The store of a project.
///
/// # Errors
/// [`StoreFault`].
pub fn store_of(root: &Path) -> Result<Arc<dyn Store>, StoreFault> {
    let process = std::process::id();
    {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection must not be used on both sides of a fork: the child forgets its parent's, without closing them.
        if open.as_ref().is_some_and(|(owner, _)| *owner != process) {
            std::mem::forget(open.take());
        }
        if let Some(store) = open.as_ref().and_then(|(_, stores)| stores.get(root)) {
            return Ok(Arc::clone(store));
        }
    }
    let store: Arc<dyn Store> = Arc::from(sanare::wire::home::open(root)?);
    // What an earlier process left open is settled before anything new begins (C106).
    sanare::operations::recover::recover(store.as_ref())?;
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, stores) = open.get_or_insert_with(|| (process, HashMap::new()));
    Ok(Arc::clone(stores.entry(root.to_path_buf()).or_insert(store)))
}
