//! The locked-down profile (C45): a person decides, nothing goes out, little is kept. A looser key beside it is an error.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{Origin, Trouble};

/// What a key may be under the profile. The first value is what it becomes when nobody set it.
enum Lock {
    Words(&'static [&'static str]),
    AtMost(u64),
}

const LOCKS: &[(&str, Lock)] = &[
    ("heal.mode", Lock::Words(&["ask", "dry_run", "observe", "off"])),
    ("heal.remember", Lock::Words(&["off"])),
    ("heal.unverified", Lock::Words(&["ask", "refuse"])),
    ("model.provider", Lock::Words(&["none"])),
    ("logs.keep", Lock::AtMost(0)),
    ("evidence.disk.arguments", Lock::AtMost(300)),
    ("evidence.disk.locals", Lock::AtMost(300)),
    ("evidence.disk.environment", Lock::AtMost(300)),
    ("evidence.model.arguments", Lock::AtMost(300)),
    ("evidence.model.locals", Lock::AtMost(300)),
    ("evidence.model.environment", Lock::AtMost(300)),
];

/// Tightens the settings if `profile = "locked"`, and says which keys are looser than it allows.
pub(super) fn apply(values: &mut BTreeMap<String, (Json, Origin)>, troubles: &mut Vec<Trouble>) {
    if values.get("profile").is_none_or(|(profile, _)| profile != "locked") {
        return;
    }
    for (path, lock) in LOCKS {
        // Keys that this version does not have cannot be loose.
        let Some((value, origin)) = values.get_mut(*path) else { continue };
        let (good, tight, hint) = match lock {
            Lock::Words(words) => (
                value.as_str().is_some_and(|word| words.contains(&word)),
                json!(words.first()),
                format!("one of {}", words.join(", ")),
            ),
            Lock::AtMost(most) => {
                (value.as_u64().is_some_and(|number| number <= *most), json!(most), format!("at most {most}"))
            }
        };
        if good {
            continue;
        }
        match origin {
            Origin::Default => *value = tight,
            set => troubles.push(Trouble {
                origin: set.clone(),
                key: (*path).to_owned(),
                message: "looser than the profile `locked` allows".to_owned(),
                hint,
            }),
        }
    }
}
