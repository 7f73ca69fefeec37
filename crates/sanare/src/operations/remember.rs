//! Remembering a call that worked: its shape (C48), and where the owner wants that its values (C49).

use sanare_core::evidence::Argument;
use sanare_core::id::Id;
use sanare_core::port::{Clock, Store, StoreFault};
use sanare_core::settings::Settings;
use sanare_core::value::Value;

use crate::operations::confirm;
use crate::operations::heal::function_key;
use crate::wire::clock::SystemClock;

/// A call that returned.
#[derive(Debug)]
pub struct Remember {
    /// The function's file.
    pub path: String,
    /// Its qualified name.
    pub function: String,
    /// The module's text; empty when there is none.
    pub source: String,
    /// The arguments as bound.
    pub arguments: Vec<Argument>,
    /// The result, bounded.
    pub result: Value,
    /// The call with its values, as the host writes and reads them; kept as it is, sealed.
    pub whole: Option<Vec<u8>>,
}

/// What came of remembering.
#[derive(Clone, Debug, Default)]
pub struct Remembered {
    /// The incident whose repair this call confirms, if the code that ran is the file's: that the host has to say.
    pub confirms: Option<Id>,
    /// Why the call itself was not kept, where it should have been.
    pub not_kept: Option<String>,
}

/// How many whole calls are kept, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    most: usize,
    millis: u64,
}

impl Kept {
    /// As the settings have it; `None` where no whole calls are to be kept.
    pub fn of(settings: &Settings) -> Option<Self> {
        let most = usize::try_from(settings.number("heal.memory.calls")).unwrap_or(0);
        let wanted = settings.text("heal.remember") == "calls" && most > 0;
        wanted.then(|| Self { most, millis: settings.number("heal.memory.call_keep") })
    }

    fn since(self, now: u64) -> u64 {
        now.saturating_sub(self.millis)
    }
}

/// Whole calls of a function that are remembered, newest first.
pub fn calls(store: &dyn Store, path: &str, function: &str, kept: Kept) -> Vec<Vec<u8>> {
    let since = kept.since(SystemClock::new().now());
    // A store that fails here fails at the next step as well, where it is told.
    let mut calls = store.calls(&function_key(path, function), since).unwrap_or_default();
    calls.truncate(kept.most);
    calls
}

/// How many shapes of a function are kept.
pub fn shapes(settings: &Settings) -> usize {
    usize::try_from(settings.number("heal.memory.shapes")).unwrap_or(1)
}

/// Keeps the shape of the call as one of so many, and its values only where `kept` says so.
///
/// # Errors
/// [`StoreFault`].
pub fn remember(
    store: &dyn Store,
    call: &Remember,
    shapes: usize,
    kept: Option<Kept>,
) -> Result<Remembered, StoreFault> {
    let shape = sanare_drift::shape::shape_of_call(&call.source, &call.function, &call.arguments, Some(&call.result));
    let text = serde_json::to_string(&shape).map_err(|error| StoreFault::Unusable(error.to_string()))?;
    let (key, now) = (function_key(&call.path, &call.function), SystemClock::new().now());
    store.remember_shape(&key, &text, now, shapes)?;
    let mut not_kept = None;
    if let (Some(kept), Some(whole)) = (kept, &call.whole) {
        match store.remember_call(&key, whole, now, kept.most, kept.since(now)) {
            Err(StoreFault::Sealed(why)) => not_kept = Some(why),
            done => done?,
        }
    }
    let digest = confirm::shape_digest(&call.source, &call.function, &call.arguments);
    Ok(Remembered { confirms: confirm::confirmable(store, &call.path, &call.function, &digest)?, not_kept })
}
