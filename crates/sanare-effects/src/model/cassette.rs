//! Cassettes: exchanges kept in a file, redacted, and played back where nobody may be asked.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};

use sanare_core::model::setup::Setup;
use sanare_core::model::wire::{Outgoing, exchange_key};
use sanare_core::port::{CallFault, Incoming};
use sanare_core::redact::Redactor;
use serde_json::{Value as Json, json};

/// Bytes of a cassette, at most.
const FILE: u64 = 64 * 1024 * 1024;

/// Adds an exchange. The reply is redacted: it may repeat what it should not.
pub fn record(path: &str, setup: &Setup, outgoing: &Outgoing, incoming: &Incoming) -> Result<(), CallFault> {
    let body = match serde_json::from_slice::<Json>(&incoming.body) {
        Ok(json) => Redactor::standard().json_owned(json).into_inner().to_string(),
        Err(_) => Redactor::standard().bytes(&incoming.body).into_inner(),
    };
    let line = json!({
        "key": exchange_key(setup, outgoing).as_str(), "provider": setup.provider.word(), "model": setup.model,
        "request": outgoing.body, "status": incoming.status, "body": body,
    });
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.map_err(|error| CallFault::Cassette(format!("`{path}` cannot be written: {}", error.kind())))
}

/// The answer to an exchange that was recorded; the last one, if it was recorded more than once.
pub fn play(path: &str, setup: &Setup, outgoing: &Outgoing) -> Result<Incoming, CallFault> {
    let unreadable = |error: std::io::Error| CallFault::Cassette(format!("`{path}` cannot be read: {}", error.kind()));
    let mut text = String::new();
    std::fs::File::open(path).and_then(|file| file.take(FILE).read_to_string(&mut text)).map_err(unreadable)?;
    let wanted = exchange_key(setup, outgoing);
    let found = text.lines().rev().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let found = found.into_iter().find(|entry| entry["key"] == wanted.as_str());
    let entry = found.ok_or_else(|| CallFault::Cassette("it does not hold this exchange".to_owned()))?;
    let status = entry["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
    Ok(Incoming { status, body: entry["body"].as_str().unwrap_or_default().as_bytes().to_vec() })
}
