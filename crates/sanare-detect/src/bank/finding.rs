//! A condition that changed, with what an incident is made from.

use sanare_core::hash::Digest;
use sanare_core::service::{Application, Component, IncidentKind, Labels, Moment, Severity, Signal};
use serde::{Deserialize, Serialize};

use crate::fingerprint::fingerprint;
use crate::health::Beat;
use crate::hold::Change;

/// A condition that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Where.
    pub application: Application,
    /// Which part.
    pub component: Component,
    /// What it is.
    pub kind: IncidentKind,
    /// How bad it is.
    pub severity: Severity,
    /// Which incident it belongs to.
    pub fingerprint: Digest,
    /// The rule that said so, by its name in the configuration or ours.
    pub rule: String,
    /// The change.
    pub change: Change,
    /// The signal that decided, where it is one.
    pub signal: Option<Signal>,
    /// Its labels.
    pub labels: Labels,
    /// The number that was compared, where it is one.
    pub value: Option<f64>,
    /// The columns that it is about, each with what is wrong where that is known.
    pub columns: Vec<String>,
}

/// A component, as a place where something is found.
#[derive(Clone, Copy)]
pub(super) struct Where<'a> {
    pub application: &'a Application,
    pub component: &'a Component,
}

impl Where<'_> {
    /// A finding of a kind's own severity, without a signal.
    pub fn finding(self, kind: IncidentKind, rule: &str, change: Change) -> Finding {
        let labels = Labels::default();
        Finding {
            application: self.application.clone(),
            component: self.component.clone(),
            kind,
            severity: kind.line().severity,
            fingerprint: fingerprint(self.application, kind, self.component, &labels, &[]),
            rule: rule.to_owned(),
            change,
            signal: None,
            labels,
            value: None,
            columns: Vec::new(),
        }
    }

    pub fn beat(self, beat: Beat) -> Finding {
        self.finding(beat.kind, beat.kind.word(), beat.change)
    }
}

impl Finding {
    /// When.
    pub fn at(&self) -> Moment {
        self.change.at
    }
}
