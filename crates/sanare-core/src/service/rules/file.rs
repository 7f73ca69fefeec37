//! The rules file: read once, whole, its own examples beside each rule (S59).

use std::sync::OnceLock;

use serde::Deserialize;

use crate::service::action::Action;
use crate::service::kind::IncidentKind;

const FILE: &str = include_str!("../../../data/diagnosis/rules.toml");

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Grows with every change.
    pub version: u32,
    /// In their order.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

/// One rule.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub id: String,
    pub kind: IncidentKind,
    #[serde(default)]
    pub when: When,
    /// How often it may come, where that is less than the action's own limit.
    pub waits: Option<usize>,
    #[serde(deserialize_with = "action")]
    pub action: Option<Action>,
    pub confidence: f64,
    pub cause: String,
    pub expected: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests play them"))]
    pub examples: Vec<Example>,
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests play them"))]
    pub counterexamples: Vec<Example>,
}

/// Conditions; what is not named does not matter.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct When {
    pub changed: Option<bool>,
    pub disk: Option<bool>,
    pub registry_right: Option<bool>,
}

/// Evidence as an example writes it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Example {
    pub changed: bool,
    pub disk: bool,
    pub registry_right: bool,
    pub tried: Vec<Action>,
}

fn action<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Action>, D::Error> {
    let word = String::deserialize(deserializer)?;
    if word == "none" { Ok(None) } else { Action::parse(&word).map(Some).map_err(serde::de::Error::custom) }
}

/// The shipped rules. A file that cannot be read has none, and a test fails then.
pub(super) fn shipped() -> &'static File {
    static SHIPPED: OnceLock<File> = OnceLock::new();
    SHIPPED.get_or_init(|| toml::from_str(FILE).unwrap_or(File { version: 0, rules: Vec::new() }))
}
