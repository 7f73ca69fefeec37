//! The store's tests: one contract for both twins, then what only a file can meet.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod contract;
mod damage;
mod faults;
mod folder;
mod intake;
mod keep;
mod messages;
mod migrations;
mod processes;
mod quiet;
mod sealed;
mod services;
mod speed;
mod statements;
mod tidy;

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::receipt::{Receipt, ReceiptState};
use sanare_core::redact::Redactor;
use serde_json::{Value as Json, json};

/// An entry of incident `inc_<name>`.
fn entry(name: &str, step: &str, payload: &Json) -> Entry {
    let payload = Redactor::standard().json(payload);
    Entry { incident: incident(name), step: step.to_owned(), at: 1_700_000_000_000, payload }
}

/// An entry with nothing in it.
fn plain(name: &str, step: &str) -> Entry {
    entry(name, step, &json!({}))
}

fn incident(name: &str) -> Id {
    Id::from_text(format!("inc_{name}"))
}

fn receipt(name: &str, state: ReceiptState) -> Receipt {
    Receipt {
        incident: incident(name),
        path: "/project/job.py".to_owned(),
        function: "Loader.load".to_owned(),
        fingerprint: "f".to_owned(),
        code: format!("code of {name}"),
        text: "def load(self):\n\treturn 'é'".to_owned(),
        before: Digest::of(b"before"),
        after: Digest::of(b"after"),
        original: b"def load(self):\r\n\treturn '\xe1\x00'\r\n".to_vec(),
        replacement: "def load(self):\r\n\treturn 'é'\r\n".as_bytes().to_vec(),
        start: 4711,
        state,
        at: 1_700_000_000_001,
    }
}
