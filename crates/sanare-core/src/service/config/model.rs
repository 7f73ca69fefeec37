//! `[service.NAME.model]`: what the registry says of the model, against what is served, and how old it may be (S29).

use serde::Serialize;

use super::reader::Table;
use super::rule::{Aggregate, Bound, RuleSettings};
use crate::service::kind::IncidentKind;
use crate::service::moment::{DAY, HOUR, MINUTE, SECOND};
use crate::service::name::{Component, Signal};

/// A model in a registry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelSettings {
    /// Registry, model and alias; those of the target that rolls it back, if absent.
    pub named: Option<NamedModel>,
    /// The component that serves it; the target's, if absent.
    pub component: Option<Component>,
    /// A probe whose `version_pointer` reads what is served; the target's, if absent.
    pub served: Option<String>,
    /// How long the service may take to load what an alias newly names, in microseconds.
    pub settle: u64,
    /// How old the version may be that the alias names, in microseconds.
    pub max_age: Option<u64>,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

/// Where a registry has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedModel {
    /// The registry's name.
    pub registry: String,
    /// The model's.
    pub model: String,
    /// The alias that the service follows.
    pub alias: String,
}

/// How long a service may take to load what an alias newly names, if nobody says otherwise.
pub const SETTLE: u64 = 2 * MINUTE;

/// The signal of the age of the version that the alias names, in seconds.
pub const AGE: &str = "registry_model_age_s";
/// How often a registry is asked, in microseconds.
pub const ASKED_EVERY: u64 = MINUTE;

impl ModelSettings {
    /// The rule that its age is watched by.
    pub(super) fn rule(&self) -> Option<RuleSettings> {
        let limit = self.max_age?;
        Some(RuleSettings {
            id: "model_stale".to_owned(),
            component: None,
            signal: Signal::parse(AGE).ok()?,
            labels: std::collections::BTreeMap::new(),
            bound: Bound::Above(seconds(limit)),
            clear: None,
            pending: None,
            keep: None,
            of: None,
            aggregate: Aggregate::Last,
            window: None,
            every: Some(ASKED_EVERY),
            kind: IncidentKind::ModelStale,
            severity: None,
            distinct: Vec::new(),
            line: self.line,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "ten years are far below 2^53 seconds")]
fn seconds(micros: u64) -> f64 {
    (micros / SECOND) as f64
}

pub(super) fn model(mut table: Table<'_>) -> ModelSettings {
    let texts = ["registry", "model", "alias"].map(|key| table.text(key, 100));
    let component = table.name::<Component>("component");
    let served = table.text("served", 63);
    let settle = table.duration("settle", 5 * SECOND, 24 * HOUR).unwrap_or(SETTLE);
    let max_age = table.duration("max_age", HOUR, 3_650 * DAY);
    let line = table.line();
    let named = match texts {
        [Some(registry), Some(model), Some(alias)] => Some(NamedModel { registry, model, alias }),
        [None, None, None] => None,
        _ => {
            table.trouble(
                "registry",
                "goes with `model` and `alias`",
                "write all three, or none beside a target by mlflow",
            );
            None
        }
    };
    table.finish();
    ModelSettings { named, component, served, settle, max_age, line }
}
