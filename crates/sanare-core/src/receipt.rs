//! The receipt: written before the act, it holds what is needed to undo it or to see that it happened.

use serde::{Deserialize, Serialize};

use crate::hash::Digest;
use crate::id::Id;

/// How a receipt stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptState {
    /// A person has been shown this change; nothing was done yet.
    Planned,
    /// The act may or may not have happened.
    Open,
    /// The act happened and stands.
    Done,
    /// The act was taken back, or never happened.
    Undone,
}

/// What a repair does to one file. The bytes are the owner's own source, kept in the private store and nowhere
/// else, and there under the owner's key alone where they hold a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The incident.
    pub incident: Id,
    /// Absolute path of the file.
    pub path: String,
    /// Qualified name of the function.
    pub function: String,
    /// Fingerprint of the failure that it repairs.
    pub fingerprint: String,
    /// Hash of the code that it repairs, as the host gives it; empty when it is not known.
    pub code: String,
    /// The function's text as the repair leaves it in the file, `\n` line ends.
    pub text: String,
    /// Hash of the file before.
    pub before: Digest,
    /// Hash of the file after.
    pub after: Digest,
    /// The bytes of the replaced span before.
    pub original: Vec<u8>,
    /// The bytes of the replaced span after.
    pub replacement: Vec<u8>,
    /// Offset of the span in the file before.
    pub start: usize,
    /// How it stands.
    pub state: ReceiptState,
    /// Milliseconds since 1970.
    pub at: u64,
}

/// What the world says of a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// The file is as it was before the act.
    Before,
    /// The file is as the act leaves it.
    After,
    /// The file is something else, or gone.
    Neither,
}

impl Receipt {
    /// Compares the hash of the file now (`None`: it cannot be read) with the receipt.
    pub fn compare(&self, now: Option<&Digest>) -> World {
        match now {
            Some(digest) if *digest == self.before => World::Before,
            Some(digest) if *digest == self.after => World::After,
            _ => World::Neither,
        }
    }
}
