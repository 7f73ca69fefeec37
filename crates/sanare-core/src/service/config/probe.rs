//! `[[service.NAME.probe]]`: a request on the path that users use, or a ping beside it (S28).

use std::collections::BTreeMap;

use serde::Serialize;

use super::reader::{Address, HeaderValue, Table};
use crate::service::moment::{MINUTE, SECOND};
use crate::service::name::Component;
use crate::service::word::words;

words! {
    /// What a probe is about.
    ProbeRole("role") {
        /// The path that users use.
        Serving = "serving",
        /// Whether anything answers at all.
        Ping = "ping",
        /// Something that the service needs.
        Dependency = "dependency",
    }
}

words! {
    /// How it asks.
    Method("method") {
        /// Without a body.
        Get = "GET",
        /// With a body from a file.
        Post = "POST",
        /// With a body, for adapters.
        Put = "PUT",
        /// With a body, for adapters.
        Patch = "PATCH",
        /// Without a body, for adapters.
        Delete = "DELETE",
    }
}

/// One probe.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbeSettings {
    /// Its name within the service.
    pub name: String,
    /// What it is about.
    pub role: ProbeRole,
    /// The component that it asks.
    pub component: Component,
    /// Where.
    pub address: Address,
    /// How.
    pub method: Method,
    /// A file with the body, from the folder of the configuration.
    pub body_file: Option<String>,
    /// Headers.
    pub headers: BTreeMap<String, HeaderValue>,
    /// The status that passes.
    pub status: u16,
    /// What the answer has to hold.
    pub contains: Option<String>,
    /// Texts that it has to hold at JSON pointers.
    pub equals: BTreeMap<String, String>,
    /// JSON pointer to the version that answers.
    pub version_pointer: Option<String>,
    /// JSON pointer to the instance that answers.
    pub instance_pointer: Option<String>,
    /// JSON pointer to the start time of the process that answers.
    pub start_pointer: Option<String>,
    /// JSON pointer to the time at which the model was loaded.
    pub load_pointer: Option<String>,
    /// Instances that may answer; empty for any.
    pub instances: Vec<String>,
    /// When it is given up, in microseconds.
    pub timeout: u64,
    /// How often it asks, in microseconds.
    pub every: u64,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

pub(super) fn probe(mut table: Table<'_>) -> Option<ProbeSettings> {
    let name = table.read("name", super::plain_name);
    let role = table.read("role", ProbeRole::parse).unwrap_or(ProbeRole::Serving);
    let component = table.name::<Component>("component").unwrap_or_default();
    let address = table.address("url");
    let body_file = table.text("body_file", 1_000);
    let method = table.read("method", Method::parse);
    let method = method.unwrap_or(if body_file.is_some() { Method::Post } else { Method::Get });
    let headers = table.headers("headers");
    let status = table.integer("status", 200, 599).and_then(|status| u16::try_from(status).ok()).unwrap_or(200);
    let contains = table.text("contains", 300);
    let equals = table.pairs("equals");
    if equals.keys().any(|pointer| !pointer.starts_with('/')) {
        table.trouble("equals", "has a key that is no JSON pointer", "{ \"/status\" = \"ok\" }");
    }
    let pointers = ["version_pointer", "instance_pointer", "start_pointer", "load_pointer"];
    let [version_pointer, instance_pointer, start_pointer, load_pointer] = pointers.map(|key| pointer(&mut table, key));
    let instances = table.texts("instances", 100).unwrap_or_default();
    let timeout = table.duration("timeout", 10_000, MINUTE).unwrap_or(5 * SECOND);
    let every = table.duration("every", 5 * SECOND, 60 * MINUTE).unwrap_or(15 * SECOND);
    match method {
        Method::Get if body_file.is_some() => {
            table.trouble("body_file", format!("{method} has no body"), "leave `method` out, or write POST");
        }
        Method::Get | Method::Post => {}
        _ => table.trouble("method", format!("a probe changes nothing, and {method} may"), "GET or POST"),
    }
    if !instances.is_empty() && instance_pointer.is_none() {
        table.trouble("instances", "needs an `instance_pointer`, which reads who answers", "");
    }
    let (name, address) = (table.needed("name", name), table.needed("url", address));
    let line = table.line();
    table.finish();
    Some(ProbeSettings {
        name: name?,
        role,
        component,
        address: address?,
        method,
        body_file,
        headers,
        status,
        contains,
        equals,
        version_pointer,
        instance_pointer,
        start_pointer,
        load_pointer,
        instances,
        timeout,
        every,
        line,
    })
}

/// A JSON pointer.
pub(super) fn pointer(table: &mut Table<'_>, key: &'static str) -> Option<String> {
    let text = table.text(key, 300)?;
    if !text.starts_with('/') {
        table.trouble(key, "is no JSON pointer", "such as \"/model_version\"");
        return None;
    }
    Some(text)
}
