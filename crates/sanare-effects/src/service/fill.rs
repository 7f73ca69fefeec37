//! Placeholders: `{application}`, `{component}`, `{version}`, `{receipt}`, filled from an intent that is ours (S79, S81).

use sanare_core::service::Version;
use sanare_core::service::port::Intent;
use sanare_core::service::proposal::Params;
use sanare_core::service::receipt::Purpose;

/// The placeholders.
pub(super) const ALL: [&str; 4] = ["{application}", "{component}", "{version}", "{receipt}"];

/// The value of a placeholder; none where the intent has none, or one that does not have the form that it should.
pub(super) fn value(placeholder: &str, intent: &Intent) -> Option<String> {
    match placeholder {
        "{application}" => Some(intent.application.to_string()),
        "{component}" => Some(intent.component.to_string()),
        "{version}" => version(intent).map(ToString::to_string),
        "{receipt}" => Some(intent.receipt_id.as_str().to_owned()).filter(|id| is_id(id)),
        _ => None,
    }
}

/// The version that an intent makes live: an undo moves back.
pub(super) fn version(intent: &Intent) -> Option<&Version> {
    match (&intent.params, intent.key.purpose) {
        (Params::Rollback { to_version, .. }, Purpose::Act) => Some(to_version),
        (Params::Rollback { from_version, .. }, Purpose::Undo) => Some(from_version),
        _ => None,
    }
}

/// The version that has to be live for an intent to be carried out.
pub(super) fn version_before(intent: &Intent) -> Option<&Version> {
    match (&intent.params, intent.key.purpose) {
        (Params::Rollback { from_version, .. }, Purpose::Act) => Some(from_version),
        (Params::Rollback { to_version, .. }, Purpose::Undo) => Some(to_version),
        _ => None,
    }
}

fn is_id(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && text.len() <= 40 && text.bytes().all(fits)
}

/// A template with every placeholder replaced by its value as a part of a JSON text; none where one has no value.
pub(super) fn json(template: &str, intent: &Intent) -> Option<String> {
    let mut out = template.to_owned();
    for placeholder in ALL {
        if out.contains(placeholder) {
            let quoted = serde_json::Value::String(value(placeholder, intent)?).to_string();
            out = out.replace(placeholder, quoted.trim_matches('"'));
        }
    }
    Some(out)
}
