//! What is asked of others: `[prometheus.NAME]` with `[[service.NAME.query]]` (S27), `[registry.NAME]` (S29), and
//! `[[service.NAME.diagnostic]]` (S76).

use std::collections::BTreeMap;

use serde::Serialize;

use super::model::NamedModel;
use super::reader::{Address, HeaderValue, Table};
use super::rule::kind;
use crate::service::kind::IncidentKind;
use crate::service::moment::{HOUR, MINUTE, SECOND};
use crate::service::name::{Component, Signal};
use crate::service::word::ObservationKind;

/// A server that is asked: Prometheus or a registry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Server {
    /// Where it is.
    pub address: Address,
    /// Headers.
    pub headers: BTreeMap<String, HeaderValue>,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

/// A query whose answer becomes observations; times in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuerySettings {
    /// The server's name.
    pub prometheus: String,
    /// What is asked.
    pub promql: String,
    /// A query that gives the time of the samples.
    pub freshness: Option<String>,
    /// The signal that it becomes.
    pub signal: Signal,
    /// The component that it is about.
    pub component: Component,
    /// Metric or resource.
    pub kind: ObservationKind,
    /// Labels that are kept.
    pub labels: Vec<String>,
    /// How often.
    pub every: u64,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

/// What a diagnostic does; nothing of it changes anything.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A program that its owner calls read-only.
    Command(Vec<String>),
    /// A GET.
    Http(Address, BTreeMap<String, HeaderValue>),
    /// A question to Prometheus.
    PromQl {
        /// The server's name.
        prometheus: String,
        /// The question.
        promql: String,
    },
    /// A configured probe.
    Probe(String),
    /// A look at where an alias is.
    Registry(NamedModel),
}

/// A read-only check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiagnosticSettings {
    /// Its id within the service.
    pub id: String,
    /// The kinds of incidents that it is for.
    pub kinds: Vec<IncidentKind>,
    /// What it does.
    pub check: Check,
    /// When it is given up, in microseconds.
    pub timeout: u64,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

pub(super) fn server(mut table: Table<'_>) -> Option<Server> {
    let address = table.address("url");
    let headers = table.headers("headers");
    let address = table.needed("url", address);
    let line = table.line();
    table.finish();
    Some(Server { address: address?, headers, line })
}

pub(super) fn query(mut table: Table<'_>) -> Option<QuerySettings> {
    let prometheus = table.text("prometheus", 63);
    let promql = table.text("promql", 4_000);
    let freshness = table.text("freshness", 4_000);
    let signal = table.name::<Signal>("signal");
    let component = table.name::<Component>("component").unwrap_or_default();
    let kind = table.read("kind", ObservationKind::parse).unwrap_or(ObservationKind::Metric);
    let labels = table.texts("labels", 32).unwrap_or_default();
    let every = table.duration("every", 5 * SECOND, 24 * HOUR).unwrap_or(30 * SECOND);
    if !matches!(kind, ObservationKind::Metric | ObservationKind::Resource) {
        table.trouble("kind", "a query gives numbers", "metric or resource");
    }
    let prometheus = table.needed("prometheus", prometheus);
    let promql = table.needed("promql", promql);
    let signal = table.needed("signal", signal);
    let line = table.line();
    table.finish();
    Some(QuerySettings {
        prometheus: prometheus?,
        promql: promql?,
        freshness,
        signal: signal?,
        component,
        kind,
        labels,
        every,
        line,
    })
}

pub(super) fn diagnostic(mut table: Table<'_>) -> Option<DiagnosticSettings> {
    let id = table.read("id", super::plain_name);
    let kinds = table.reads("kinds", kind);
    let argv = super::target::argv(&mut table, "argv");
    let read_only = table.flag("read_only").unwrap_or(false);
    let address = table.address("url");
    let headers = table.headers("headers");
    let prometheus = table.text("prometheus", 63);
    let promql = table.text("promql", 4_000);
    let probe = table.text("probe", 63);
    let timeout = table.duration("timeout", 10_000, 5 * MINUTE).unwrap_or(30 * SECOND);
    let named = ["registry", "model", "alias"].map(|key| table.text(key, 100));
    let ways = ["argv", "url", "promql", "probe", "registry"].iter().filter(|key| table.has(key)).count();
    if ways != 1 {
        table.trouble("id", "does one thing", "write one of argv, url, promql, probe, registry");
    }
    if table.has("argv") && !read_only {
        table.trouble("argv", "nobody has said that this program changes nothing", "write read_only = true if so");
    }
    if table.has("registry") || table.has("model") || table.has("alias") {
        for (key, text) in ["registry", "model", "alias"].into_iter().zip(&named) {
            table.needed(key, text.as_ref());
        }
    }
    let registry = match named {
        [Some(registry), Some(model), Some(alias)] => Some(Check::Registry(NamedModel { registry, model, alias })),
        _ => None,
    };
    if table.has("promql") {
        table.needed("prometheus", prometheus.as_ref());
    }
    let check = argv
        .map(Check::Command)
        .or_else(|| address.map(|address| Check::Http(address, headers)))
        .or_else(|| Some(Check::PromQl { prometheus: prometheus?, promql: promql? }))
        .or_else(|| probe.map(Check::Probe))
        .or(registry);
    let (id, kinds) = (table.needed("id", id), table.needed("kinds", kinds));
    let line = table.line();
    table.finish();
    Some(DiagnosticSettings { id: id?, kinds: kinds?, check: check?, timeout, line })
}
