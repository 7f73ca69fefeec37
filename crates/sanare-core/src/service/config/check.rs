//! What will never be done by itself, and why: each target judged at its best, so that what still fires always will (S138).

use serde::Serialize;

use super::{AdapterSettings, Configuration, ServiceSettings};
use crate::policy::{Policy, Verdict, stricter};
use crate::service::action::Action;
use crate::service::declaration::Blast;
use crate::service::kind::IncidentKind;
use crate::service::moment::Moment;
use crate::service::name::Application;
use crate::service::policy::{Case, Numbers, judge};
use crate::service::rules;
use crate::service::word::Severity;

/// Why an action on a service waits for a person, or is never done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Obstacle {
    /// The service.
    pub application: Application,
    /// The action.
    pub action: Action,
    /// Ask, or refuse.
    pub verdict: Verdict,
    /// The rule of policy.
    pub rule: String,
    /// Its values, in words.
    pub because: String,
}

/// Every obstacle, by service and action. An action without a target is one obstacle; the others are policy's.
pub fn obstacles(configuration: &Configuration, policy: &Policy, now: Moment) -> Vec<Obstacle> {
    let mut all = Vec::new();
    for (application, service) in &configuration.services {
        let numbers = Numbers::of(policy, application);
        for action in Action::ALL.iter().copied().filter(|action| !action.is_framework()) {
            let case = best(configuration, service, action, &numbers, now);
            let told = judge(&case, &numbers, policy).fired.into_iter().filter(|fired| {
                // Without a target nothing else matters.
                fired.verdict != Verdict::Permit && (case.unavailable.is_none() || fired.rule == "unmapped")
            });
            all.extend(told.map(|fired| Obstacle {
                application: application.clone(),
                action,
                verdict: fired.verdict,
                rule: fired.rule,
                because: fired.because,
            }));
        }
    }
    all
}

/// The best that an action can meet: first attempt, sure diagnosis, measured often enough, everything healthy and quiet.
fn best(
    configuration: &Configuration,
    service: &ServiceSettings,
    action: Action,
    numbers: &Numbers,
    now: Moment,
) -> Case {
    let (kind, confidence) = rules::surest(action).unwrap_or((IncidentKind::Unreachable, 0.0));
    let mut case = Case {
        application: service.application.clone(),
        kind,
        severity: Severity::Critical,
        action,
        mode: stricter(service.mode, numbers.mode),
        now,
        confidence,
        verified_attempts: numbers.history_min,
        healthy: service.instances,
        ..Case::default()
    };
    match configuration.target(&service.application, action) {
        Err(why) => case.unavailable = Some(why),
        Ok(target) => {
            let declared = &target.declared;
            let mlflow = matches!(&target.adapter, AdapterSettings::Mlflow { .. });
            let served = matches!(&target.adapter, AdapterSettings::Mlflow { served: Some(_), .. });
            case.component = target.component.clone();
            target.adapter.word().clone_into(&mut case.adapter);
            case.truth_elsewhere.clone_from(&declared.source_of_truth);
            case.blast = declared.blast.unwrap_or(Blast { touched: 1, of: 1 });
            case.fenced = mlflow || declared.fence.as_ref().is_some_and(|fence| !fence.is_empty());
            case.idempotent = declared.idempotent.unwrap_or(false);
            case.reversible = declared.reversible.unwrap_or(mlflow);
            case.verifiable = served || declared.identity_probe.is_some();
        }
    }
    case
}
