//! The configuration as detectors want it; what a detector refuses is told with the line that it stands on.

use sanare_core::service::config::{ASKED_EVERY, Bound, CountForm, ProbeRole};
use sanare_core::service::moment::DAY;
use sanare_core::service::{Invalid, Signal, Source};
use sanare_core::settings::Trouble;
use sanare_detect::bank::{BudgetRule, HealthSign, QualityFor, Settings};
use sanare_detect::budget::{Budget, Form};
use sanare_detect::health::Sign;
use sanare_detect::order::Order;
use sanare_detect::presence::Expect;
use sanare_detect::quality::QualityRule;
use sanare_detect::threshold::Rule;

use super::references;
use super::setup::{Setup, trouble};

/// The door of this process's own clients.
pub(super) const CLIENT: &str = "client";
/// The door of our own probes.
pub(super) const PROBE: &str = "probe";
/// The door of what registries say.
pub(super) const REGISTRY: &str = "registry";
/// The door of followed log files.
pub(super) const LOG: &str = "log";
/// Whether the registry has the version that its alias names, ready to be loaded: said whenever it answers.
pub(super) const READY: &str = "registry_version_ready";
/// Whether that version is the one that is served.
pub(super) const SERVED: &str = "registry_served";
/// Whether the service has its model: what it says of itself under this name.
pub(super) const LOADED: &str = "model_loaded";
/// The door of what persons say.
pub(super) const PERSON: &str = "person";

/// The door of a person or a script at a terminal.
pub(super) const COMMAND: &str = "command";

/// The signal of a probe.
pub(super) fn probe_signal(name: &str) -> Result<Signal, Invalid> {
    Signal::parse(format!("probe.{name}"))
}

/// The signal of the instances that answer a probe.
pub(super) fn instance_signal(name: &str) -> Result<Signal, Invalid> {
    Signal::parse(format!("probe.{name}.instance"))
}

/// Settings of the bank.
///
/// # Errors
/// What a detector refuses, with its line.
pub fn detectors(setup: &Setup) -> Result<Settings, Vec<Trouble>> {
    let mut settings = Settings::default();
    let mut troubles = Vec::new();
    let mut wrong = |line: usize, key: String, invalid: Invalid| {
        let mut one = trouble(&setup.file, line, &invalid.reason, "");
        one.key = format!("{key}.{}", invalid.field);
        troubles.push(one);
    };
    for (application, service) in &setup.configuration.services {
        for rule in &service.rules {
            if let Some(every) = rule.every {
                settings.expects.insert(rule.signal.clone(), Expect { every: Some(every), ..Expect::default() });
            }
            match Rule::new(rule.clone()) {
                Ok(rule) => settings.rules.push((application.clone(), rule)),
                Err(invalid) => wrong(rule.line, format!("service.{application}.rule"), invalid),
            }
        }
        for budget in &service.budgets {
            let form = match budget.form {
                CountForm::Counter => Form::Counter,
                CountForm::Count => Form::Count,
            };
            match Budget::new(budget.objective, form) {
                Ok(made) => settings.budgets.push(BudgetRule {
                    id: budget.id.clone(),
                    application: application.clone(),
                    bad: budget.bad.clone(),
                    all: budget.all.clone(),
                    budget: made,
                }),
                Err(invalid) => wrong(budget.line, format!("service.{application}.budget"), invalid),
            }
        }
        for quality in &service.qualities {
            match QualityRule::new(quality.bound) {
                Ok(rule) => settings.qualities.push(QualityFor {
                    id: quality.id.clone(),
                    application: application.clone(),
                    signal: quality.signal.clone(),
                    rule,
                    form: quality.form,
                }),
                Err(invalid) => wrong(quality.line, format!("service.{application}.quality"), invalid),
            }
        }
        for drift in &service.drifts {
            match references::read(setup, application, drift) {
                Ok(read) => settings.drifts.extend(read),
                Err(invalid) => wrong(drift.line, format!("service.{application}.drift"), invalid),
            }
        }
        for probe in &service.probes {
            let sign = match probe.role {
                ProbeRole::Serving => Sign::Serving,
                ProbeRole::Ping => Sign::Ping,
                ProbeRole::Dependency => Sign::Dependency,
            };
            let signs = [(probe_signal(&probe.name), sign), (instance_signal(&probe.name), Sign::Instance)];
            for (signal, sign) in signs {
                match signal {
                    Ok(signal) if sign != Sign::Instance || !probe.instances.is_empty() => {
                        settings.signs.push(HealthSign { application: application.clone(), signal, sign });
                    }
                    Ok(_) => {}
                    Err(invalid) => wrong(probe.line, format!("service.{application}.probe"), invalid),
                }
            }
        }
        if let Ok(signal) = Signal::parse(LOADED) {
            settings.signs.push(HealthSign { application: application.clone(), signal, sign: Sign::ModelLoaded });
        }
        if service.has_model() {
            let (ready, served) = (Signal::parse(READY), Signal::parse(SERVED));
            if let (Ok(ready), Ok(signal)) = (ready, served) {
                let every = Some(ASKED_EVERY);
                settings.expects.insert(ready.clone(), Expect { every, ..Expect::default() });
                settings.watched.insert((application.clone(), ready));
                let (application, sign) = (application.clone(), Sign::ServedVersion);
                settings.signs.push(HealthSign { application, signal, sign });
            }
        }
        settings.watched.extend(service.watch.iter().map(|signal| (application.clone(), signal.clone())));
    }
    // Nobody asks for a while: that says nothing of the service, whose count of requests goes on being 0.
    for name in ["serving_error_share", "serving_latency_p99_ms"] {
        if let Ok(signal) = Signal::parse(name) {
            settings.expects.entry(signal).or_insert(Expect { least: 30 * DAY, ..Expect::default() });
        }
    }
    // What we ask for ourselves, what calls of this process bring, and what is told at a terminal comes in its order.
    let own = [CLIENT, PROBE, PERSON, COMMAND, REGISTRY, LOG].into_iter().map(str::to_owned);
    let pulled = setup.configuration.prometheus.keys().map(|name| prometheus_source(name));
    for source in own.chain(pulled) {
        if let Ok(source) = Source::parse(source) {
            settings.orders.insert(source, Order { lag: 0 });
        }
    }
    if troubles.is_empty() { Ok(settings) } else { Err(troubles) }
}

/// The door of a Prometheus server.
pub(super) fn prometheus_source(name: &str) -> String {
    format!("prometheus-{name}").chars().take(63).collect()
}

/// Whether a number is within the bound by which a rule clears.
pub(super) fn is_inside(rule: &sanare_core::service::config::RuleSettings, number: f64) -> bool {
    match rule.bound {
        Bound::Above(bound) => number <= rule.clear.unwrap_or(bound),
        Bound::Below(bound) => number >= rule.clear.unwrap_or(bound),
    }
}
