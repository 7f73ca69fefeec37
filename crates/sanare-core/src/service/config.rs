//! Configuration of services: the text of `sanare.toml` in, typed values or everything that is wrong with it out (S138).
//!
//! The file is the one of code healing's settings; each half reads its own tables. What does not live here: reading files
//! and variables (the face), and what detectors and adapters make of these values.

mod check;
mod drift;
mod keeping;
mod job;
mod log;
mod map;
mod notify;
mod model;
mod probe;
mod quiet;
mod reader;
mod rule;
mod target;
mod watch;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::json;
use toml::de::{DeTable, DeValue};

use super::action::Action;
use super::component::ComponentTable;
use super::declaration::Declaration;
use super::invalid::Invalid;
use super::name::{Application, Component, Signal};
use crate::hash::Digest;
use crate::incident::Mode;
use crate::ledger::v1::canonical;
use crate::port::Keeping;
use crate::settings::{SettingsFile, Trouble};

pub use check::{Obstacle, obstacles};
pub use drift::{ColumnSettings, DriftSettings};
pub use job::{CancelWay, JobSettings, JobWay, WorkflowSettings};
pub use keeping::HeadsSettings;
pub use log::LogSettings;
pub use map::{AlertMap, find};
pub use model::{AGE, ASKED_EVERY, ModelSettings, NamedModel, SETTLE};
pub use notify::{RouteSettings, Way};
pub use probe::{Method, ProbeRole, ProbeSettings};
pub use quiet::{InhibitSettings, MaintenanceSettings};
pub use reader::{Address, HeaderValue, SecretRef};
pub use rule::{Aggregate, Bound, BudgetSettings, CountForm, QualityForm, QualitySettings, RuleSettings};
pub use target::{AdapterSettings, HttpSettings, PollSettings, TargetSettings, default_timeout_ms};
pub use watch::{Check, DiagnosticSettings, QuerySettings, Server};

use reader::{Document, Table};

/// Tables of the file that are the service half's.
pub const ROOTS: [&str; 10] =
    ["service", "registry", "prometheus", "map", "component", "maintenance", "inhibit", "notify", "retention", "heads"];

/// Everything that is configured of services.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Configuration {
    /// The services, by name.
    pub services: BTreeMap<Application, ServiceSettings>,
    /// Registries, by name.
    pub registries: BTreeMap<String, Server>,
    /// Prometheus servers, by name.
    pub prometheus: BTreeMap<String, Server>,
    /// What outside alerts mean; the first that matches wins.
    pub maps: Vec<AlertMap>,
    /// Windows in which nothing is begun.
    pub maintenance: Vec<MaintenanceSettings>,
    /// What explains what, beside what needs no rule.
    pub inhibitions: Vec<InhibitSettings>,
    /// Which component an action is for, where that is configured.
    #[serde(serialize_with = "components")]
    pub components: BTreeMap<Action, ComponentTable>,
    /// How people are told, in order.
    pub routes: Vec<RouteSettings>,
    /// How long what is kept.
    pub keeping: Keeping,
    /// Where signed heads of the ledger go, if they go anywhere.
    pub heads: Option<HeadsSettings>,
}

/// One service.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceSettings {
    /// Its name.
    pub application: Application,
    /// How many instances run.
    pub instances: u32,
    /// The most that may be done; policy may say less.
    pub mode: Mode,
    /// Services that it needs.
    pub depends_on: Vec<Application>,
    /// Signals that must not stay away.
    pub watch: Vec<Signal>,
    /// Probes.
    pub probes: Vec<ProbeSettings>,
    /// Threshold rules.
    pub rules: Vec<RuleSettings>,
    /// Error budgets.
    pub budgets: Vec<BudgetSettings>,
    /// Bounds on qualities.
    pub qualities: Vec<QualitySettings>,
    /// Profiles and their references.
    pub drifts: Vec<DriftSettings>,
    /// Patterns in log lines.
    pub logs: Vec<LogSettings>,
    /// Its model in a registry.
    pub model: Option<ModelSettings>,
    /// Queries.
    pub queries: Vec<QuerySettings>,
    /// Read-only checks.
    pub diagnostics: Vec<DiagnosticSettings>,
    /// Targets, by component and action.
    pub targets: Vec<TargetSettings>,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

impl Configuration {
    /// Reads a file.
    ///
    /// # Errors
    /// Everything that is wrong, in the order of the lines.
    pub fn read(file: &SettingsFile) -> Result<Self, Vec<Trouble>> {
        let document = Document::new(&file.path, &file.text);
        let parsed = match DeTable::parse(&file.text) {
            Ok(parsed) => parsed,
            Err(error) => {
                let line = error.span().map_or(1, |span| document.line(span.start));
                document.trouble(line, "", format!("not TOML: {}", error.message()), "");
                return Err(document.troubles());
            }
        };
        let mut root = Some(parsed.get_ref());
        if file.in_pyproject {
            for key in ["tool", "sanare"] {
                root = root.and_then(|table| table.get(key)).and_then(|value| match value.get_ref() {
                    DeValue::Table(table) => Some(table),
                    _ => None,
                });
            }
        }
        let Some(root) = root else { return Ok(Self::default()) };
        let configuration = Self::of(Table::new(&document, root, String::new(), 1));
        configuration.look_across(&document);
        let troubles = document.troubles();
        if troubles.is_empty() { Ok(configuration) } else { Err(troubles) }
    }

    fn of(mut root: Table<'_>) -> Self {
        let servers = |tables: Vec<(String, Table<'_>)>| {
            let mut all = BTreeMap::new();
            for (name, table) in tables {
                if let Err(invalid) = plain_name(&name) {
                    table.trouble("", invalid.reason, "");
                }
                all.extend(watch::server(table).map(|server| (name, server)));
            }
            all
        };
        let registries = servers(root.named("registry"));
        let prometheus = servers(root.named("prometheus"));
        let mut services = BTreeMap::new();
        for (name, table) in root.named("service") {
            match Application::parse(name.as_str()) {
                Ok(application) => {
                    services.insert(application.clone(), service(application, table, &registries));
                }
                Err(invalid) => table.trouble("", invalid.reason, ""),
            }
        }
        let maps = root.tables("map").into_iter().filter_map(map::map).collect();
        let maintenance = root.tables("maintenance").into_iter().filter_map(quiet::maintenance).collect();
        let inhibitions = root.tables("inhibit").into_iter().filter_map(quiet::inhibit).collect();
        let components = root.table("component").map(component_tables).unwrap_or_default();
        let routes = root.tables("notify").into_iter().filter_map(notify::route).collect();
        // The root's other keys are code healing's.
        let keeping = root.table("retention").map(keeping::keeping).unwrap_or_default();
        let heads = root.table("heads").and_then(keeping::heads);
        Self { services, registries, prometheus, maps, maintenance, inhibitions, components, routes, keeping, heads }
    }

    /// Hash of what is in effect: the same for two files that mean the same.
    pub fn hash(&self) -> Digest {
        Digest::of(canonical(&json!(self)).as_bytes())
    }

    /// The target of an action on an application.
    ///
    /// # Errors
    /// Why there is none, for people.
    pub fn target(&self, application: &Application, action: Action) -> Result<&TargetSettings, String> {
        let Some(service) = self.services.get(application) else {
            return Err(format!("no service `{application}` is configured"));
        };
        let component = self.component(application, action)?;
        let fits = |one: &&TargetSettings| one.action == action && one.component == component;
        service.targets.iter().find(fits).ok_or_else(|| {
            format!("no target is configured for {action} at [service.{application}.target.{component}]")
        })
    }

    /// The component that an action is for (S13).
    ///
    /// # Errors
    /// Why none is meant.
    pub fn component(&self, application: &Application, action: Action) -> Result<Component, String> {
        self.components.get(&action).unwrap_or(&ComponentTable::NotConfigured).of(application)
    }

    /// What a name in one place says of another.
    fn look_across(&self, document: &Document<'_>) {
        for (application, service) in &self.services {
            let at = |line: usize, key: &str, message: String| {
                document.trouble(line, &format!("service.{application}.{key}"), message, "");
            };
            service.unique(&at);
            service.references(&self.prometheus, &self.registries, &at);
            service.model_is_known(&self.registries, &at);
            for other in service.depends_on.iter().filter(|other| !self.services.contains_key(*other)) {
                at(service.line, "depends_on", format!("there is no [service.{other}]"));
            }
            if let Some(way) = self.cycle(application) {
                at(service.line, "depends_on", format!("is a cycle: {way}"));
            }
        }
        self.twice(document);
        self.look_at_routes(document);
        self.look_at_heads(document);
        for map in self.maps.iter().filter(|map| !self.services.contains_key(&map.application)) {
            document.trouble(map.line, "map.application", format!("there is no [service.{}]", map.application), "");
        }
    }

    /// A route has a name of its own, and is for services that there are.
    fn look_at_routes(&self, document: &Document<'_>) {
        let mut known = BTreeMap::new();
        for route in &self.routes {
            if let Some(first) = known.insert(route.name.as_str(), route.line) {
                document.trouble(
                    route.line,
                    "notify.name",
                    format!("`{}` stands on line {first} already", route.name),
                    "",
                );
            }
            for application in route.applications.iter().filter(|one| !self.services.contains_key(*one)) {
                document.trouble(route.line, "notify.applications", format!("there is no [service.{application}]"), "");
            }
        }
    }

    /// Heads go by routes that there are.
    fn look_at_heads(&self, document: &Document<'_>) {
        let Some(heads) = &self.heads else { return };
        for name in heads.routes.iter().filter(|name| self.routes.iter().all(|route| route.name != **name)) {
            document.trouble(heads.line, "heads.routes", format!("there is no [[notify]] named `{name}`"), "");
        }
    }

    /// The way from an application back to itself, told once a cycle: at its first name.
    fn cycle(&self, start: &Application) -> Option<String> {
        let mut ways = vec![vec![start]];
        let mut seen = BTreeSet::new();
        while let Some(way) = ways.pop() {
            let Some(service) = way.last().and_then(|last| self.services.get(*last)) else { continue };
            for next in &service.depends_on {
                if next == start {
                    let least = way.iter().min() == Some(&start);
                    let names: Vec<&str> = way.iter().chain([&start]).map(|name| name.as_str()).collect();
                    return least.then(|| names.join(" → "));
                }
                if seen.insert(next) {
                    ways.push(way.iter().copied().chain([next]).collect());
                }
            }
        }
        None
    }

    /// The same action on the same thing stands once.
    fn twice(&self, document: &Document<'_>) {
        let mut known: BTreeMap<(&str, Action), (&Application, &TargetSettings)> = BTreeMap::new();
        let all = self
            .services
            .iter()
            .flat_map(|(application, service)| service.targets.iter().map(move |target| (application, target)));
        for (application, target) in all {
            if let Some((other, first)) = known.insert((target.key.as_str(), target.action), (application, target)) {
                document.trouble(
                    target.line,
                    &format!("service.{application}.target.{}.{}", target.component, target.action),
                    format!("`{}` is the target of {other} on line {} already", target.key, first.line),
                    "one thing has one target for an action",
                );
            }
        }
    }
}

impl ServiceSettings {
    /// Names are unique in their list.
    fn unique(&self, at: &dyn Fn(usize, &str, String)) {
        let lists: [(&str, Vec<(&str, usize)>); 7] = [
            ("probe", self.probes.iter().map(|one| (one.name.as_str(), one.line)).collect()),
            ("rule", self.rules.iter().map(|one| (one.id.as_str(), one.line)).collect()),
            ("budget", self.budgets.iter().map(|one| (one.id.as_str(), one.line)).collect()),
            ("quality", self.qualities.iter().map(|one| (one.id.as_str(), one.line)).collect()),
            ("drift", self.drifts.iter().map(|one| (one.signal.as_str(), one.line)).collect()),
            ("log", self.logs.iter().map(|one| (one.signal.as_str(), one.line)).collect()),
            ("diagnostic", self.diagnostics.iter().map(|one| (one.id.as_str(), one.line)).collect()),
        ];
        for (list, names) in lists {
            let mut known = BTreeMap::new();
            for (name, line) in names {
                if let Some(first) = known.insert(name, line) {
                    at(line, list, format!("`{name}` stands on line {first} already"));
                }
            }
        }
    }

    /// Names of probes, actions and servers are names of something.
    fn references(
        &self,
        prometheus: &BTreeMap<String, Server>,
        registries: &BTreeMap<String, Server>,
        at: &dyn Fn(usize, &str, String),
    ) {
        let probe = |name: &Option<String>| name.as_ref().filter(|name| self.probe(name).is_none()).cloned();
        for target in &self.targets {
            let key = format!("target.{}.{}", target.component, target.action);
            if let Some(name) = probe(&target.declared.identity_probe) {
                at(target.line, &key, format!("there is no probe `{name}`"));
            }
            if let AdapterSettings::Mlflow { then, served, .. } = &target.adapter {
                if let Some(name) = probe(served) {
                    at(target.line, &key, format!("there is no probe `{name}`"));
                }
                let found = |then: Action| {
                    self.targets.iter().any(|one| one.action == then && one.component == target.component)
                };
                if let Some(then) = then.filter(|then| !found(*then)) {
                    at(target.line, &key, format!("`then` names {then}, which has no target beside it"));
                }
            }
            let undo = match &target.adapter {
                AdapterSettings::Command { undo_argv, .. } => Some(undo_argv.is_some()),
                AdapterSettings::Http(request) => Some(request.undo_request.is_some()),
                AdapterSettings::Workflow(_) => Some(false),
                AdapterSettings::Callback | AdapterSettings::Mlflow { .. } => None,
            };
            // Where a job is cancelled that is the way back.
            if target.declared.reversible == Some(true) && undo == Some(false) && !target.adapter.cancels() {
                at(target.line, &format!("{key}.reversible"), "does not say how it is taken back".to_owned());
            }
            // A built-in adapter knows itself; what its owner writes only makes it stricter, and is compared there.
            let own = matches!(target.adapter, AdapterSettings::Mlflow { .. });
            let checked = Declaration::check(target.action, target.key.clone(), target.declared.clone());
            if let Err(invalid) = checked.map(|_| ()).or_else(|invalid| if own { Ok(()) } else { Err(invalid) }) {
                at(target.line, &format!("{key}.{}", invalid.field), invalid.reason);
            }
        }
        for diagnostic in &self.diagnostics {
            match &diagnostic.check {
                Check::Probe(name) if self.probe(name).is_none() => {
                    at(diagnostic.line, "diagnostic", format!("there is no probe `{name}`"));
                }
                Check::PromQl { prometheus: name, .. } if !prometheus.contains_key(name) => {
                    at(diagnostic.line, "diagnostic", format!("there is no [prometheus.{name}]"));
                }
                Check::Registry(named) if !registries.contains_key(&named.registry) => {
                    at(diagnostic.line, "diagnostic", format!("there is no [registry.{}]", named.registry));
                }
                _ => {}
            }
        }
        for query in self.queries.iter().filter(|query| !prometheus.contains_key(&query.prometheus)) {
            at(query.line, "query", format!("there is no [prometheus.{}]", query.prometheus));
        }
    }

    /// The model's registry is there, and something reads what is served.
    fn model_is_known(&self, registries: &BTreeMap<String, Server>, at: &dyn Fn(usize, &str, String)) {
        let Some(model) = &self.model else { return };
        let mut targets = self.targets.iter().map(|target| &target.adapter);
        let by_target = targets.find_map(|adapter| match adapter {
            AdapterSettings::Mlflow { served, .. } => Some(served.as_ref()),
            _ => None,
        });
        match &model.named {
            Some(named) if !registries.contains_key(&named.registry) => {
                at(model.line, "model.registry", format!("there is no [registry.{}]", named.registry));
            }
            None if by_target.is_none() => {
                at(model.line, "model.registry", "is missing, and no target by mlflow names one".to_owned());
            }
            _ => {}
        }
        match model.served.as_ref() {
            Some(name) => match self.probe(name) {
                None => at(model.line, "model.served", format!("there is no probe `{name}`")),
                Some(probe) if probe.version_pointer.is_none() => {
                    at(model.line, "model.served", format!("probe `{name}` has no `version_pointer`"));
                }
                Some(_) => {}
            },
            None if by_target.flatten().is_none() && model.max_age.is_none() => {
                at(model.line, "model.served", "is missing, and so is `max_age`: nothing would be compared".to_owned());
            }
            None => {}
        }
    }

    /// Whether it has a model in a registry.
    pub fn has_model(&self) -> bool {
        self.model.is_some()
            || self.targets.iter().any(|target| matches!(target.adapter, AdapterSettings::Mlflow { .. }))
    }

    /// A probe by its name.
    pub fn probe(&self, name: &str) -> Option<&ProbeSettings> {
        self.probes.iter().find(|probe| probe.name == name)
    }
}

fn service(application: Application, mut table: Table<'_>, registries: &BTreeMap<String, Server>) -> ServiceSettings {
    let instances = table.integer("instances", 1, 10_000).and_then(|number| u32::try_from(number).ok()).unwrap_or(1);
    let mode = table.read("mode", mode).unwrap_or(Mode::Auto);
    let depends_on = table.names::<Application>("depends_on").unwrap_or_default();
    let watch = table.names::<Signal>("watch").unwrap_or_default();
    let probes = table.tables("probe").into_iter().filter_map(probe::probe).collect();
    let mut rules: Vec<RuleSettings> = table.tables("rule").into_iter().filter_map(rule::rule).collect();
    let budgets = table.tables("budget").into_iter().filter_map(rule::budget).collect();
    let qualities = table.tables("quality").into_iter().filter_map(rule::quality).collect();
    let drifts = table.tables("drift").into_iter().filter_map(drift::drift).collect();
    let logs = table.tables("log").into_iter().filter_map(log::log).collect();
    let model = table.table("model").map(model::model);
    rules.extend(model.as_ref().and_then(ModelSettings::rule));
    let queries = table.tables("query").into_iter().filter_map(watch::query).collect();
    let diagnostics = table.tables("diagnostic").into_iter().filter_map(watch::diagnostic).collect();
    let mut targets = Vec::new();
    for (name, one) in table.named("target") {
        match Component::parse(name.as_str()) {
            Ok(component) => targets.extend(target::component(&application, &component, one, instances, registries)),
            Err(invalid) => one.trouble("", invalid.reason, ""),
        }
    }
    let line = table.line();
    table.finish();
    ServiceSettings {
        application,
        instances,
        mode,
        depends_on,
        watch,
        probes,
        rules,
        budgets,
        qualities,
        drifts,
        logs,
        model,
        queries,
        diagnostics,
        targets,
        line,
    }
}

fn component_tables(mut table: Table<'_>) -> BTreeMap<Action, ComponentTable> {
    let mut tables = BTreeMap::new();
    for action in Action::ALL.iter().filter(|action| !action.is_framework()) {
        let Some(json) = table.json(action.word()) else { continue };
        match ComponentTable::read(&json) {
            Ok(read) => {
                tables.insert(*action, read);
            }
            Err(invalid) => table.invalid(action.word(), &invalid),
        }
    }
    table.finish();
    tables
}

fn components<S: serde::Serializer>(
    tables: &BTreeMap<Action, ComponentTable>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(tables.iter().map(|(action, table)| {
        let written = match table {
            ComponentTable::NotConfigured => json!(null),
            ComponentTable::Everywhere(component) => json!(component),
            ComponentTable::ByApplication(map) => json!(map),
        };
        (action.word(), written)
    }))
}

/// A name that the owner gives to something in the file.
fn plain_name(text: &str) -> Result<String, Invalid> {
    Component::parse(text).map(String::from).map_err(|invalid| Invalid::new("name", invalid.reason))
}

fn mode(text: &str) -> Result<Mode, Invalid> {
    match text {
        "auto" => Ok(Mode::Auto),
        "ask" => Ok(Mode::Ask),
        "dry_run" => Ok(Mode::DryRun),
        "observe" => Ok(Mode::Observe),
        other => Err(Invalid::quoting("mode", other, "one of observe, dry_run, ask, auto")),
    }
}
