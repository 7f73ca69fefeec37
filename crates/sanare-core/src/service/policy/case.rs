//! What policy judges by: plain values, so that a case can be written down, explained and tested (S98).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::incident::Mode;
use crate::policy::{Facts, Policy};
use crate::service::action::Action;
use crate::service::declaration::Blast;
use crate::service::kind::IncidentKind;
use crate::service::limits::Counts;
use crate::service::moment::Moment;
use crate::service::name::{Application, Component};
use crate::service::word::{Origin, Severity};

/// One case. The default one is sound: in mode auto nothing fires on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Case {
    /// The service.
    pub application: Application,
    /// The part of it.
    pub component: Component,
    /// What is wrong.
    pub kind: IncidentKind,
    /// How bad it is.
    pub severity: Severity,
    /// What is proposed.
    pub action: Action,
    /// The kind of the target's adapter.
    pub adapter: String,
    /// Who proposes.
    pub origin: Origin,
    /// The stricter of settings and policy.
    pub mode: Mode,
    /// The incident's labels.
    pub labels: BTreeMap<String, String>,
    /// Now.
    pub now: Moment,
    /// Whether a stop switch is set, for all or for the application.
    pub stopped: bool,
    /// Why the policy file cannot be used.
    pub policy_trouble: Option<String>,
    /// Whether the store failed while this was put together.
    pub store_error: bool,
    /// Milliseconds since the wall clock jumped.
    pub since_clock_jump_ms: Option<u64>,
    /// Why there is no target, or it is not available now.
    pub unavailable: Option<String>,
    /// The system that owns the target's state.
    pub truth_elsewhere: Option<String>,
    /// Whether storm mode holds for the application.
    pub in_storm: bool,
    /// Application attempts of the incident so far.
    pub attempts: u32,
    /// Whether the action counts as tried.
    pub tried: bool,
    /// The lower of capped and measured.
    pub confidence: f64,
    /// Verified attempts of this kind, action and agent.
    pub verified_attempts: u32,
    /// Readings that were cited.
    pub cited: u32,
    /// Milliseconds for which the target still rests.
    pub cooldown_left_ms: u64,
    /// Acts so far.
    pub counts: Counts,
    /// Instances touched, of how many.
    pub blast: Blast,
    /// Instances of it that are healthy now.
    pub healthy: u32,
    /// Healthy ones that the act takes down.
    pub takes_healthy: u32,
    /// Other applications that are being acted on now.
    pub applications_at_once: u32,
    /// Whether the incident heals and falls ill again.
    pub chronic: bool,
    /// Whether its condition changes too often.
    pub flapping: bool,
    /// Whether the adapter compares before it acts.
    pub fenced: bool,
    /// Whether doing it twice is doing it once.
    pub idempotent: bool,
    /// Whether a served identity or a signal can show success.
    pub verifiable: bool,
    /// Whether it can be taken back.
    pub reversible: bool,
    /// The first gate that was skipped, and why; nothing before the gates have run.
    pub gate_skipped: Option<String>,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            application: Application::default(),
            component: Component::default(),
            kind: IncidentKind::Unreachable,
            severity: Severity::Critical,
            action: Action::RestartComponent,
            adapter: "command".to_owned(),
            origin: Origin::Rules,
            mode: Mode::Auto,
            labels: BTreeMap::new(),
            // Monday 1 January 2024, 20:00 UTC.
            now: Moment::from_millis(1_704_139_200_000),
            stopped: false,
            policy_trouble: None,
            store_error: false,
            since_clock_jump_ms: None,
            unavailable: None,
            truth_elsewhere: None,
            in_storm: false,
            attempts: 0,
            tried: false,
            confidence: 0.8,
            verified_attempts: 5,
            cited: 1,
            cooldown_left_ms: 0,
            counts: Counts::default(),
            blast: Blast { touched: 1, of: 3 },
            healthy: 2,
            takes_healthy: 0,
            applications_at_once: 0,
            chronic: false,
            flapping: false,
            fenced: true,
            idempotent: false,
            verifiable: true,
            reversible: false,
            gate_skipped: None,
        }
    }
}

impl Case {
    /// What the owner's rules are matched against.
    pub fn facts(&self, policy: &Policy) -> Facts {
        let mut facts = Facts::default();
        let mode = serde_json::to_value(self.mode).ok().and_then(|word| word.as_str().map(str::to_owned));
        let one = |word: &str| vec![word.to_owned()];
        facts.words.insert("application", one(self.application.as_str()));
        facts.words.insert("component", one(self.component.as_str()));
        facts.words.insert("kind", one(self.kind.word()));
        facts.words.insert("action", one(self.action.word()));
        facts.words.insert("adapter", one(&self.adapter));
        facts.words.insert("origin", one(self.origin.word()));
        facts.words.insert("severity", one(self.severity.word()));
        facts.words.insert("mode", mode.into_iter().collect());
        facts.words.insert("labels", self.labels.iter().map(|(key, value)| format!("{key}={value}")).collect());
        facts.words.insert("environment", one(&policy.environment));
        facts.numbers.insert("confidence", self.confidence);
        facts.severity = Some(self.severity.word().to_owned());
        facts.now = self.now.millis();
        facts.offsets.clone_from(&policy.offsets);
        facts
    }
}
