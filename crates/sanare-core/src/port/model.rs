//! Asking a provider: one exchange of bytes, bounded in time and size.

use crate::model::setup::Setup;
use crate::model::wire::Outgoing;

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// HTTP status; 200 for a command that left with 0.
    pub status: u16,
    /// The body, at most as long as a reply may be.
    pub body: Vec<u8>,
}

/// Why nothing came back: by its class, never with a provider's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallFault {
    /// The key is not where the settings say.
    #[error("no key: {0}")]
    NoKey(String),
    /// The name could not be looked up.
    #[error("the name could not be looked up")]
    Lookup,
    /// The address is one that no model is served from.
    #[error("the address is not allowed: link-local, metadata, or another machine over http")]
    Address,
    /// No connection.
    #[error("no connection")]
    Connect,
    /// The encryption failed.
    #[error("no encrypted connection: {0}")]
    Tls(String),
    /// It was silent for too long, or the time was over.
    #[error("no answer in time")]
    Timeout,
    /// The connection broke off.
    #[error("the connection broke off")]
    Broken,
    /// What came is no HTTP.
    #[error("the answer is not HTTP")]
    NotHttp,
    /// It is compressed, though that was not asked for.
    #[error("the answer is compressed, which was not asked for")]
    Encoded,
    /// It is longer than any reply.
    #[error("the answer is longer than allowed")]
    TooLong,
    /// A command could not be started.
    #[error("the command could not be started: {0}")]
    CannotStart(String),
    /// A command ended with another code than 0.
    #[error("the command left with code {0}")]
    Left(i32),
    /// Whoever asked does not wait any more.
    #[error("the call was given up")]
    GivenUp,
    /// The cassette does not hold this exchange, or cannot be read or written.
    #[error("the cassette: {0}")]
    Cassette(String),
}

impl CallFault {
    /// Its word in records.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoKey(_) => "no_key",
            Self::Lookup => "lookup",
            Self::Address => "address",
            Self::Connect => "connect",
            Self::Tls(_) => "tls",
            Self::Timeout => "timeout",
            Self::Broken => "broken",
            Self::NotHttp => "not_http",
            Self::Encoded => "encoded",
            Self::TooLong => "too_long",
            Self::CannotStart(_) => "cannot_start",
            Self::Left(_) => "left",
            Self::GivenUp => "given_up",
            Self::Cassette(_) => "cassette",
        }
    }
}

/// A way to a provider.
pub trait ModelPort {
    /// One exchange, retry included, within so many milliseconds, or until nobody waits for it any more.
    ///
    /// # Errors
    /// [`CallFault`].
    fn exchange(
        &mut self,
        setup: &Setup,
        outgoing: &Outgoing,
        millis: u64,
        gone: &mut dyn FnMut() -> bool,
    ) -> Result<Incoming, CallFault>;
}
