//! `[[notify]]`: how people are told, in the order in which they are (S104, S113, S132).

use std::collections::BTreeMap;

use serde::Serialize;

use super::reader::{Address, HeaderValue, SecretRef, Table};
use crate::service::moment::{MINUTE, SECOND};
use crate::service::name::Application;
use crate::service::run::MessageKind;
use crate::service::word::Severity;

/// One route.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RouteSettings {
    /// Its name.
    pub name: String,
    /// How a message goes out.
    pub way: Way,
    /// The services that it is for; empty for all.
    pub applications: Vec<Application>,
    /// What is less bad than this goes another way.
    pub severity: Severity,
    /// What it is told; empty for everything.
    pub kinds: Vec<MessageKind>,
    /// When a try is given up, in microseconds.
    pub timeout: u64,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

/// How a message goes out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// A POST.
    Webhook {
        /// Where.
        address: Address,
        /// Headers.
        headers: BTreeMap<String, HeaderValue>,
        /// The secret that a message is signed with.
        sign: Option<SecretRef>,
    },
    /// A program that reads the message from its standard input.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
        /// Variables that it may see.
        env: Vec<String>,
    },
}

impl RouteSettings {
    /// Whether a message goes this way.
    pub fn takes(&self, application: &Application, severity: Severity, kind: MessageKind) -> bool {
        (self.applications.is_empty() || self.applications.contains(application))
            && (self.kinds.is_empty() || self.kinds.contains(&kind))
            && severity >= self.severity
    }

    /// Whether what stops all services goes this way: it concerns whoever is told of any of them, however bad.
    pub fn takes_of_all(&self, kind: MessageKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }
}

pub(super) fn route(mut table: Table<'_>) -> Option<RouteSettings> {
    let name = table.read("name", super::plain_name);
    let name = table.needed("name", name);
    let address = table.address("url");
    let headers = table.headers("headers");
    let sign = table.secret("sign");
    let argv = super::target::argv(&mut table, "argv");
    let env = table.texts("env", 50).unwrap_or_default();
    let applications = table.names::<Application>("applications").unwrap_or_default();
    let severity = table.read("severity", Severity::parse).unwrap_or(Severity::Low);
    let kinds = table.reads("kinds", MessageKind::parse).unwrap_or_default();
    let timeout = table.duration("timeout", SECOND, MINUTE).unwrap_or(10 * SECOND);
    if table.has("url") == table.has("argv") {
        table.trouble("name", "goes one way", "write url, or argv");
    }
    if table.has("argv") && (table.has("sign") || table.has("headers")) {
        table.trouble("argv", "a program gets no headers and no signature", "leave out headers and sign");
    }
    if argv.iter().flatten().any(|argument| argument.contains('{')) {
        table.trouble("argv", "has no placeholders here", "the message stands on standard input");
    }
    let way = match (address, argv) {
        (Some(address), None) => Some(Way::Webhook { address, headers, sign }),
        (None, Some(argv)) => Some(Way::Command { argv, env }),
        _ => None,
    };
    let line = table.line();
    table.finish();
    Some(RouteSettings { name: name?, way: way?, applications, severity, kinds, timeout, line })
}
