//! Remembering the shape of a call that worked (C48).

use sanare_core::evidence::Argument;
use sanare_core::id::Id;
use sanare_core::port::{Clock, Store, StoreFault};
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
}

/// Keeps the shape of the call; no value of it. Gives the incident whose repair this call confirms, if the code that ran
/// is the file's: that the host has to say.
///
/// # Errors
/// [`StoreFault`].
pub fn remember(store: &dyn Store, call: &Remember) -> Result<Option<Id>, StoreFault> {
    let shape = sanare_drift::shape::shape_of_call(&call.source, &call.function, &call.arguments, Some(&call.result));
    let text = serde_json::to_string(&shape).map_err(|error| StoreFault::Unusable(error.to_string()))?;
    store.remember_shape(&function_key(&call.path, &call.function), &text, SystemClock::new().now())?;
    let digest = confirm::shape_digest(&call.source, &call.function, &call.arguments);
    confirm::confirmable(store, &call.path, &call.function, &digest)
}
