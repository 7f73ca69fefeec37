//! Asking a language model, as far as that is values: settings of a provider, the request, the reply, usage, budgets.
//!
//! What does not live here: connections, clocks, keys, the nonce's chance. What leaves goes through the redactor and is
//! escaped; what comes back is parsed strictly, and is a proposal that the gates judge like any other.

pub mod setup;
pub mod prompt;
pub mod escape;
pub mod request;
pub mod wire;
pub mod reply;
pub mod usage;
pub mod budget;
