//! Everything that can be said of a configuration without asking anybody (S138).

use std::sync::Arc;

use sanare_core::incident::Mode;
use sanare_core::policy::Policy;
use sanare_core::port::Clock as _;
use sanare_core::service::confidence::MEASURED_FROM;
use sanare_core::service::config::{Obstacle, obstacles};
use sanare_core::service::policy::Numbers;
use sanare_core::service::{Moment, Origin};
use sanare_core::settings::Trouble;

use crate::service::calm::Calm;
use crate::service::hands::Hands;
use crate::service::setup::trouble;
use crate::service::{Setup, agent, detectors};
use crate::wire::clock::SystemClock;

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Why the policy file cannot be used.
    pub policy_trouble: Option<String>,
    /// What will never be done by itself, and why.
    pub obstacles: Vec<Obstacle>,
    /// What works and is hardly meant, one line each.
    pub warnings: Vec<String>,
}

/// Makes everything that the configuration names, asks nobody, and throws it away.
///
/// # Errors
/// Everything that detectors and adapters refuse, in the order of the lines.
pub fn checked(setup: &Setup) -> Result<Checked, Vec<Trouble>> {
    let mut troubles = detectors(setup).err().unwrap_or_default();
    troubles.extend(Calm::of(setup, Arc::default()).err().unwrap_or_default());
    troubles.extend(Hands::of(setup).err().unwrap_or_default());
    let now = SystemClock::new().now();
    let policy = setup.policy(now);
    let mut warnings = Vec::new();
    gates(setup, &policy, &mut troubles, &mut warnings);
    if !troubles.is_empty() {
        return Err(troubles);
    }
    if setup.configuration.routes.is_empty() && !setup.configuration.services.is_empty() {
        warnings.push("no [[notify]] says how people are told: they have to look themselves".to_owned());
    }
    let obstacles = obstacles(&setup.configuration, &policy, Moment::from_millis(now));
    Ok(Checked { policy_trouble: policy.trouble().map(str::to_owned), obstacles, warnings })
}

/// A gate of confidence lies above what a fallback is believed, else it is none; above what a model is believed, no model
/// ever passes it (S69).
fn gates(setup: &Setup, policy: &Policy, troubles: &mut Vec<Trouble>, warnings: &mut Vec<String>) {
    let caps = agent::caps(&setup.settings);
    let has_model = crate::wire::model::setup_in(&setup.settings, &setup.folder).is_ok_and(|model| model.is_some());
    let most = caps.cap(Origin::Model, 1.0, 1, true);
    for (application, service) in &setup.configuration.services {
        let numbers = Numbers::of(policy, application);
        let gate = numbers.confidence_gate;
        if numbers.mode == Mode::Auto && numbers.history_min < MEASURED_FROM {
            warnings.push(format!(
                "{application}: history_min is {}: with under {MEASURED_FROM} verified attempts it acts on what the agent says of \
                 itself",
                numbers.history_min
            ));
        }
        if let Err(invalid) = caps.check_gate(gate) {
            let mut one = trouble(&setup.file, service.line, &invalid.reason, "lower `model.fallback_confidence_cap`");
            one.key = format!("service.{application}: confidence_gate");
            troubles.push(one);
        }
        if has_model && gate > most {
            warnings.push(format!(
                "{application}: the gate of confidence {gate} is above the {most} that a model is believed: it always asks"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::super::Setup;
    use super::checked;

    /// The warnings, or what is refused.
    fn check(policy: &str, more: &str) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("policy.toml"), format!("version = 1\n{policy}\n")).unwrap();
        let text = format!("{more}\n[policy]\nfile = \"policy.toml\"\n[service.fraud]\n");
        let setup = Setup::of(Path::new(&folder.path().join("sanare.toml")), Ok(text.as_bytes())).unwrap();
        let told = checked(&setup);
        told.map(|checked| checked.warnings).map_err(|all| all.iter().map(ToString::to_string).collect())
    }

    const ROUTE: &str = "[[notify]]\nname = \"ops\"\nargv = [\"/bin/tell\"]\n";

    #[test]
    fn a_gate_lies_above_the_fallback_and_hardly_above_the_model() {
        let model = |keys: &str| format!("{ROUTE}[model]\nprovider = \"ollama\"\nmodel = \"m\"\n{keys}\n");
        assert_eq!(check("", &model("")), Ok(Vec::new()));
        assert_eq!(check("confidence_gate = 0.9", &model("")), Ok(Vec::new()), "at the cap it may pass");
        let warned = check("confidence_gate = 0.95", &model("")).unwrap();
        assert!(warned.len() == 1 && warned[0].contains("0.95 is above the 0.9"), "{warned:?}");
        assert_eq!(check("confidence_gate = 0.95", ROUTE), Ok(Vec::new()), "no model is asked");
        assert_eq!(check("confidence_gate = 0.31", &model("fallback_confidence_cap = 0.3")), Ok(Vec::new()));
        for gate in ["0.3", "0.25"] {
            let refused = check(&format!("confidence_gate = {gate}"), &model("fallback_confidence_cap = 0.3"));
            assert!(refused.as_ref().is_err_and(|why| why.contains("above the fallback's cap 0.3")), "{refused:?}");
        }
        let own = "[application.fraud]\nconfidence_gate = 0.3";
        assert!(check(own, &model("fallback_confidence_cap = 0.3")).is_err(), "each service's own gate");
    }

    #[test]
    fn acting_without_a_history_is_said() {
        for (policy, is_said) in [
            ("mode = \"auto\"\nhistory_min = 0", true),
            ("mode = \"auto\"\nhistory_min = 4", true),
            ("mode = \"auto\"\nhistory_min = 5", false),
            ("mode = \"auto\"", false),
            ("history_min = 0", false),
            ("[application.fraud]\nmode = \"auto\"\nhistory_min = 1", true),
        ] {
            let warned = check(policy, ROUTE).unwrap();
            let told = warned.iter().any(|one| one.contains("history_min is") && one.contains("under 5 verified"));
            assert_eq!((told, warned.len()), (is_said, usize::from(is_said)), "{policy}: {warned:?}");
        }
    }

    #[test]
    fn where_nobody_would_be_told_that_is_said() {
        let warned = check("", "").unwrap();
        assert!(warned.len() == 1 && warned[0].contains("no [[notify]]"), "{warned:?}");
        assert_eq!(check("", ROUTE), Ok(Vec::new()));
    }
}
