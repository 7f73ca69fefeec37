//! Adapters, probes and checks as the configuration names them, and the functions that the owner's program lends.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sanare_core::model::setup::KeyPlace;
use sanare_core::port::StoreFault;
use sanare_core::service::config::{
    self, AdapterSettings, Address, Check, Configuration, DiagnosticSettings, HeaderValue, HttpSettings, Method,
    ModelSettings, ProbeSettings, SecretRef, Server, TargetSettings,
};
use sanare_core::service::declaration::{Declaration, Written};
use sanare_core::service::port::{Adapter, Diagnostic, Intent, Probe};
use sanare_core::service::target::Mark;
use sanare_core::service::{Action, Application, Component, Invalid, ServiceStore, Signal, TargetKey};
use sanare_core::settings::Trouble;
use sanare_effects::service::callback::{Callback, End};
use sanare_effects::service::diagnostic::{self, Way};
use sanare_effects::service::mlflow::registry::{Model, Registry};
use sanare_effects::service::probe::{Expected, HttpProbe};
use sanare_effects::service::prometheus::Pull;
use sanare_effects::service::{Endpoint, Secret, command, http, mlflow, probe, prometheus};

use super::courier::{self, Route};
use super::healer::locked;
use super::jobs;
use super::logs::Files;
use super::setup::{Setup, trouble};

/// A function of the owner's program. What it did is known by what it says; an error is "nobody knows".
pub type Function = dyn Fn(&Intent) -> End + Send + Sync;

/// What an owner declares of a function that may be called.
#[derive(Clone, Default)]
pub struct Capability {
    /// What is declared; what is left out is the unsafe value.
    pub declared: Written,
    /// Says which version, process or model answers now.
    pub probe: Option<Arc<dyn Probe>>,
}

/// A target with everything that acting on it needs.
#[derive(Clone)]
pub(super) struct Hand {
    pub adapter: Arc<dyn Adapter>,
    pub kind: &'static str,
    pub probe: Option<Arc<dyn Probe>>,
    pub component: Component,
}

/// A query that is pulled.
#[derive(Clone)]
pub(super) struct Pulled {
    pub application: Application,
    pub settings: config::QuerySettings,
    pub pull: Arc<Pull>,
}

/// A model whose alias is looked at.
#[derive(Clone)]
pub(super) struct Watched {
    pub registry: Arc<Registry>,
    pub model: Arc<Model>,
    pub served: Option<Arc<dyn Probe>>,
    pub component: Component,
    /// How long the service may take to load what the alias newly names.
    pub settle: u64,
}

/// Everything that reaches out.
#[derive(Clone, Default)]
pub(super) struct Hands {
    pub targets: BTreeMap<(Application, Component, Action), Hand>,
    pub probes: Vec<(Application, ProbeSettings, Arc<dyn Probe>)>,
    pub pulls: Vec<Pulled>,
    pub models: BTreeMap<Application, Watched>,
    pub routes: Vec<Route>,
    pub logs: Arc<Mutex<Files>>,
    diagnostics: BTreeMap<String, Arc<dyn Diagnostic>>,
    /// Targets of configurations before, for what was begun on them.
    pub before: Vec<((Application, Action), Hand)>,
}

impl Hands {
    /// Keeps the targets of the configuration before that are in use and configured no more.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn keep(&mut self, before: &Self, store: &dyn ServiceStore) -> Result<(), StoreFault> {
        locked(&self.logs).go_on_from(&mut locked(&before.logs));
        let nobody = sanare_core::id::Id::from_text("");
        let old = before.targets.iter().map(|((application, _, action), hand)| ((application.clone(), *action), hand));
        for (of, hand) in old.chain(before.before.iter().map(|(of, hand)| (of.clone(), hand))) {
            let target = &hand.adapter.declaration().target;
            let is = |other: &Hand| other.adapter.declaration().target == *target;
            let mut now =
                self.targets.iter().filter(|((application, _, action), _)| (application, action) == (&of.0, &of.1));
            if !now.any(|(_, other)| is(other)) && store.target_in_use(target, &nobody)? {
                self.before.push((of, hand.clone()));
            }
        }
        Ok(())
    }

    /// Makes them all; nothing is asked and nothing is sent.
    pub fn of(setup: &Setup) -> Result<Self, Vec<Trouble>> {
        let mut hands = Self::default();
        let mut files = Files::default();
        let mut troubles = Vec::new();
        let configuration = &setup.configuration;
        for (application, service) in &configuration.services {
            let mut wrong = |line: usize, key: String, invalid: Invalid| {
                let mut one = trouble(&setup.file, line, &invalid.reason, "");
                one.key = format!("service.{application}.{key}.{}", invalid.field);
                troubles.push(one);
            };
            for settings in &service.probes {
                match http_probe(settings, setup) {
                    Ok(made) => hands.probes.push((application.clone(), settings.clone(), Arc::new(made))),
                    Err(invalid) => wrong(settings.line, "probe".to_owned(), invalid),
                }
            }
            for settings in &service.queries {
                match pull(settings, &configuration.prometheus) {
                    Ok(pull) => hands.pulls.push(Pulled {
                        application: application.clone(),
                        settings: settings.clone(),
                        pull: Arc::new(pull),
                    }),
                    Err(invalid) => wrong(settings.line, "query".to_owned(), invalid),
                }
            }
            for settings in &service.diagnostics {
                let name = format!("{application}/{}", settings.id);
                match hands.check(application, &name, settings, configuration, &setup.folder) {
                    Ok(made) => drop(hands.diagnostics.insert(name, made)),
                    Err(invalid) => wrong(settings.line, "diagnostic".to_owned(), invalid),
                }
            }
            for settings in &service.logs {
                if let Err(invalid) = files.add(setup, application, settings) {
                    wrong(settings.line, "log".to_owned(), invalid);
                }
            }
            // What a rollback makes the service load by stands before it in the order of actions.
            for target in &service.targets {
                match hands.target(application, target, configuration) {
                    Ok(Some(hand)) => {
                        let key = (application.clone(), target.component.clone(), target.action);
                        hands.targets.insert(key, hand);
                    }
                    // A callback is there once the program has lent it.
                    Ok(None) => {}
                    Err(invalid) => {
                        wrong(target.line, format!("target.{}.{}", target.component, target.action), invalid);
                    }
                }
            }
            if let Some(settings) = &service.model
                && let Err(invalid) = hands.model(application, settings, configuration)
            {
                wrong(settings.line, "model".to_owned(), invalid);
            }
        }
        for settings in &configuration.routes {
            match courier::way(&settings.way) {
                Ok(way) => hands.routes.push(Route { settings: settings.clone(), way }),
                Err(invalid) => {
                    let mut one = trouble(&setup.file, settings.line, &invalid.reason, "");
                    one.key = format!("notify.{}", invalid.field);
                    troubles.push(one);
                }
            }
        }
        hands.logs = Arc::new(Mutex::new(files));
        if troubles.is_empty() { Ok(hands) } else { Err(troubles) }
    }

    /// A model that is looked at as its own table says, and for the rest as the target that rolls it back.
    fn model(
        &mut self,
        application: &Application,
        settings: &ModelSettings,
        configuration: &Configuration,
    ) -> Result<(), Invalid> {
        let of_target = self.models.remove(application);
        let served = settings.served.as_ref().and_then(|name| self.probe(application, name));
        let served = served.or_else(|| of_target.as_ref().and_then(|watched| watched.served.clone()));
        let (registry, model) = match &settings.named {
            Some(named) => {
                let server = configuration.registries.get(&named.registry);
                let server = server.ok_or_else(|| Invalid::new("registry", "is not configured"))?;
                (Arc::new(registry_of(server)?), Arc::new(Model::new(&named.model, &named.alias)?))
            }
            None => match &of_target {
                Some(watched) => (Arc::clone(&watched.registry), Arc::clone(&watched.model)),
                None => return Err(Invalid::new("registry", "is missing")),
            },
        };
        let component = settings.component.clone().or_else(|| of_target.map(|watched| watched.component));
        let component = component.unwrap_or_default();
        self.models
            .insert(application.clone(), Watched { registry, model, served, component, settle: settings.settle });
        Ok(())
    }

    pub fn probe(&self, application: &Application, name: &str) -> Option<Arc<dyn Probe>> {
        let mut all = self.probes.iter();
        all.find(|(owner, settings, _)| owner == application && settings.name == name)
            .map(|(_, _, made)| Arc::clone(made))
    }

    pub fn diagnostic(&self, name: &str) -> Option<&dyn Diagnostic> {
        self.diagnostics.get(name).map(|made| &**made)
    }

    /// Lends a function of the owner's program.
    pub fn lend(
        &mut self,
        configuration: &Configuration,
        application: &Application,
        component: &Component,
        action: Action,
        function: Arc<Function>,
        capability: Capability,
    ) -> Result<(), Invalid> {
        let configured = configuration.services.get(application).and_then(|service| {
            service.targets.iter().find(|target| target.action == action && target.component == *component)
        });
        let mut declared = capability.declared;
        let mut probe = capability.probe;
        let mut key = TargetKey::parse(format!("service:{application}/{component}"))?;
        if let Some(target) = configured {
            if !matches!(target.adapter, AdapterSettings::Callback) {
                let other = target.adapter.word();
                return Err(Invalid::new(
                    "capability",
                    format!("{action} has a target by {other} in the configuration"),
                ));
            }
            key.clone_from(&target.key);
            declared = stricter(declared, &target.declared)?;
            let named = target.declared.identity_probe.as_ref();
            probe = probe.or_else(|| named.and_then(|name| self.probe(application, name)));
        }
        if probe.is_some() && declared.identity_probe.is_none() {
            declared.identity_probe = Some("callback".to_owned());
        }
        declared.timeout_ms = declared.timeout_ms.or(Some(30_000));
        let declaration = Declaration::check(action, key, declared)?;
        let callback = Callback::new(function, declaration, probe.clone())?;
        let hand = Hand { adapter: Arc::new(callback), kind: "callback", probe, component: component.clone() };
        self.targets.insert((application.clone(), component.clone(), action), hand);
        Ok(())
    }

    fn target(
        &mut self,
        application: &Application,
        target: &TargetSettings,
        configuration: &Configuration,
    ) -> Result<Option<Hand>, Invalid> {
        let mut declared = target.declared.clone();
        let identity = declared.identity_probe.as_ref().and_then(|name| self.probe(application, name));
        let kind = target.adapter.word();
        if declared.timeout_ms.is_none() && kind != "mlflow" {
            declared.timeout_ms = Some(config::default_timeout_ms(&target.adapter));
        }
        let checked = || Declaration::check(target.action, target.key.clone(), declared.clone());
        let component = target.component.clone();
        let hand = |adapter: Arc<dyn Adapter>, probe| Some(Hand { adapter, kind, probe, component });
        Ok(match &target.adapter {
            AdapterSettings::Callback => None,
            AdapterSettings::Command { argv, undo_argv, env, clean_failures, job } => {
                let settings = command::Settings {
                    argv: argv.clone(),
                    undo: undo_argv.clone(),
                    environment: env.clone(),
                    clean_failures: *clean_failures,
                    job: job.as_ref().map(|job| jobs::job(job, &BTreeMap::new())).transpose()?,
                };
                hand(Arc::new(command::Command::new(settings, checked()?, identity.clone())?), identity)
            }
            AdapterSettings::Http(request) => {
                hand(Arc::new(http::Http::new(http_settings(request)?, checked()?, identity.clone())?), identity)
            }
            AdapterSettings::Workflow(workflow) => {
                let settings = jobs::dispatch(workflow)?;
                hand(Arc::new(http::Http::new(settings, checked()?, identity.clone())?), identity)
            }
            AdapterSettings::Mlflow { registry, model, alias, then, served } => {
                let server = configuration.registries.get(registry);
                let server = server.ok_or_else(|| Invalid::new("registry", "is not configured"))?;
                let served = served.as_ref().and_then(|name| self.probe(application, name)).or(identity);
                let then = then.and_then(|then| {
                    let key = (application.clone(), target.component.clone(), then);
                    self.targets.get(&key).map(|hand| Arc::clone(&hand.adapter))
                });
                let model = Model::new(model, alias)?;
                let made = mlflow::Mlflow::new(registry_of(server)?, model.clone(), served.clone(), then)?;
                let watched = Watched {
                    registry: Arc::new(registry_of(server)?),
                    model: Arc::new(model),
                    served: served.clone(),
                    component: target.component.clone(),
                    settle: config::SETTLE,
                };
                self.models.insert(application.clone(), watched);
                hand(Arc::new(made.declared(&target.declared)?), served)
            }
        })
    }

    fn check(
        &self,
        application: &Application,
        name: &str,
        settings: &DiagnosticSettings,
        configuration: &Configuration,
        folder: &Path,
    ) -> Result<Arc<dyn Diagnostic>, Invalid> {
        let timeout = Duration::from_micros(settings.timeout);
        let way = match &settings.check {
            Check::Command(argv) => Way::Command { argv: argv.clone(), folder: folder.to_path_buf(), timeout },
            Check::Http(address, headers) => Way::Get { endpoint: endpoint(address, headers)?, timeout },
            Check::Probe(named) => {
                let probe = self.probe(application, named);
                Way::Probe(probe.ok_or_else(|| Invalid::quoting("probe", named, "there is no such probe"))?)
            }
            Check::PromQl { prometheus: server, promql } => {
                let server = configuration.prometheus.get(server);
                let server = server.ok_or_else(|| Invalid::new("prometheus", "is not configured"))?;
                Way::PromQl(Box::new(Pull::new(prometheus::Settings {
                    endpoint: endpoint(&server.address, &server.headers)?,
                    query: promql.clone(),
                    timestamps: None,
                    labels: Vec::new(),
                    signal: Signal::parse("diagnostic")?,
                    every: prometheus::EVERY,
                })?))
            }
            Check::Registry(named) => {
                let server = configuration.registries.get(&named.registry);
                let server = server.ok_or_else(|| Invalid::new("registry", "is not configured"))?;
                Way::Registry(Box::new(registry_of(server)?), Model::new(&named.model, &named.alias)?)
            }
        };
        Ok(Arc::new(diagnostic::Check::new(name, way)))
    }
}

/// What is declared in code, made stricter by the configuration and never looser.
fn stricter(code: Written, file: &Written) -> Result<Written, Invalid> {
    let both = |field: &str, code: Option<bool>, file: Option<bool>| match (code, file) {
        (None | Some(false), Some(true)) => {
            Err(Invalid::new(field, "is declared in the configuration and not in the code"))
        }
        (code, file) => Ok(file.or(code)),
    };
    Ok(Written {
        idempotent: both("idempotent", code.idempotent, file.idempotent)?,
        reversible: both("reversible", code.reversible, file.reversible)?,
        timeout_ms: match (code.timeout_ms, file.timeout_ms) {
            (Some(code), Some(file)) => Some(code.min(file)),
            (code, file) => code.or(file),
        },
        fence: file.fence.clone().or(code.fence),
        blast: file.blast.or(code.blast),
        identity_probe: file.identity_probe.clone().or(code.identity_probe),
        verification: file.verification.clone().or(code.verification),
        source_of_truth: file.source_of_truth.clone().or(code.source_of_truth),
        undo: file.undo.or(code.undo),
        ..code
    })
}

/// Where a secret is read.
pub(super) fn key_place(place: &SecretRef) -> KeyPlace {
    match place {
        SecretRef::Env(name) => KeyPlace::Variable(name.clone()),
        SecretRef::File(path) => KeyPlace::File(path.clone()),
    }
}

pub(super) fn endpoint(address: &Address, headers: &BTreeMap<String, HeaderValue>) -> Result<Endpoint, Invalid> {
    let mut endpoint = Endpoint::new(&address.text, address.allow_insecure)?;
    if let Some(file) = &address.ca_file {
        endpoint = endpoint.ca_file(file);
    }
    for (name, value) in headers {
        endpoint = match value {
            HeaderValue::Plain(text) => endpoint.header(name, text)?,
            HeaderValue::Secret { before, place } => {
                endpoint.secret(Secret { header: name.clone(), before: before.clone(), place: key_place(place) })?
            }
        };
    }
    Ok(endpoint)
}

fn registry_of(server: &Server) -> Result<Registry, Invalid> {
    Ok(Registry::new(endpoint(&server.address, &server.headers)?))
}

fn http_probe(settings: &ProbeSettings, setup: &Setup) -> Result<HttpProbe, Invalid> {
    let body = match &settings.body_file {
        Some(named) => {
            let read = std::fs::read(setup.path(named));
            Some(read.map_err(|error| Invalid::new("body_file", format!("cannot be read: {error}")))?)
        }
        None => None,
    };
    let mut expected: Vec<Expected> = settings.contains.iter().cloned().map(Expected::Contains).collect();
    expected.extend(settings.equals.iter().map(|(at, text)| Expected::Equals(at.clone(), text.clone())));
    let pointers = [
        (Mark::ServedVersion, &settings.version_pointer),
        (Mark::Instance, &settings.instance_pointer),
        (Mark::StartTime, &settings.start_pointer),
        (Mark::LoadTime, &settings.load_pointer),
    ];
    HttpProbe::new(probe::Settings {
        method: settings.method.word().to_owned(),
        body,
        timeout: Duration::from_micros(settings.timeout),
        status: settings.status,
        expected,
        marks: pointers.into_iter().filter_map(|(mark, at)| Some((mark, at.clone()?))).collect(),
        ..probe::Settings::get(&settings.name, endpoint(&settings.address, &settings.headers)?)
    })
}

fn pull(settings: &config::QuerySettings, servers: &BTreeMap<String, Server>) -> Result<Pull, Invalid> {
    let server = servers.get(&settings.prometheus).ok_or_else(|| Invalid::new("prometheus", "is not configured"))?;
    Pull::new(prometheus::Settings {
        endpoint: endpoint(&server.address, &server.headers)?,
        query: settings.promql.clone(),
        timestamps: settings.freshness.clone(),
        labels: settings.labels.clone(),
        signal: settings.signal.clone(),
        every: Duration::from_micros(settings.every),
    })
}

fn http_settings(request: &HttpSettings) -> Result<http::Settings, Invalid> {
    let words = |words: &[String]| words.to_vec();
    let poll = match &request.poll {
        Some(poll) => {
            let made = http::Poll::new(endpoint(&poll.address, &request.headers)?, &poll.pointer, &[], &[]);
            Some(http::Poll { done: words(&poll.done), failed: words(&poll.failed), ..made })
        }
        None => None,
    };
    Ok(http::Settings {
        method: match request.method {
            Method::Get => return Err(Invalid::new("method", "a GET changes nothing")),
            other => other.word().to_owned(),
        },
        body: request.body.clone(),
        success: request.success.clone(),
        poll,
        job: request.job.as_ref().map(|job| jobs::job(job, &request.headers)).transpose()?,
        if_match: request.if_match,
        clean_failures: request.clean_failures,
        undo: match &request.undo_request {
            Some(undo) => Some(Box::new(http_settings(undo)?)),
            None => None,
        },
        ..http::Settings::post(endpoint(&request.address, &request.headers)?)
    })
}
