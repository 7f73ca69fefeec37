//! A registry in memory that answers as MLflow does, with a script of what happens at which request.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};

use crate::service::twin::{Say, Seen, Twin, ok};

/// What a registry holds.
#[derive(Debug, Default)]
pub(in crate::service) struct Held {
    pub alias: Option<String>,
    /// Versions and their status.
    pub versions: BTreeMap<String, String>,
    pub tags: BTreeMap<(String, String), String>,
    /// Moves of the alias, in order.
    pub moves: Vec<String>,
}

pub(in crate::service) type Store = Arc<Mutex<Held>>;

/// How a request goes wrong.
pub(in crate::service) enum Turn {
    /// It has no effect, and this is answered.
    Instead(Say),
    /// It has its effect, and this is answered.
    After(Say),
}

/// A registry with versions 40 to 42, the alias at 42.
pub(in crate::service) fn store() -> Store {
    let versions = ["40", "41", "42"].map(|version| (version.to_owned(), "READY".to_owned()));
    Arc::new(Mutex::new(Held { alias: Some("42".to_owned()), versions: versions.into(), ..Held::default() }))
}

/// A server of it. `meddle` is asked before each request, with its number, its name and what is held.
pub(in crate::service) fn serve(
    store: &Store,
    meddle: impl Fn(usize, &str, &mut Held) -> Option<Turn> + Send + Sync + 'static,
) -> Twin {
    let (store, count) = (Arc::clone(store), Mutex::new(0));
    Twin::new(move |seen| {
        let mut held = store.lock().expect("a lock");
        let mut count = count.lock().expect("a lock");
        let place = *count;
        *count += 1;
        match meddle(place, name(seen), &mut held) {
            Some(Turn::Instead(say)) => say,
            Some(Turn::After(say)) => {
                answer(seen, &mut held);
                say
            }
            None => answer(seen, &mut held),
        }
    })
}

/// What a request is about.
fn name(seen: &Seen) -> &'static str {
    match (seen.method.as_str(), seen.path.split('?').next().unwrap_or_default()) {
        ("GET", "/api/2.0/mlflow/registered-models/alias") => "alias",
        ("GET", "/api/2.0/mlflow/model-versions/get") => "version",
        ("POST", "/api/2.0/mlflow/model-versions/set-tag") => "tag",
        ("POST", "/api/2.0/mlflow/registered-models/alias") => "move",
        _ => "other",
    }
}

fn error(status: u16, code: &str) -> Say {
    Say::Status(status, json!({ "error_code": code, "message": "token=s3cr3t" }).to_string())
}

fn answer(seen: &Seen, held: &mut Held) -> Say {
    let body: Json = serde_json::from_str(&seen.body).unwrap_or_default();
    let text = |key: &str| body.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    match name(seen) {
        "alias" if !seen.path.ends_with("name=fraud&alias=champion") => error(404, "RESOURCE_DOES_NOT_EXIST"),
        "alias" => match &held.alias {
            Some(version) => ok(&version_json(held, version).to_string()),
            None => error(400, "INVALID_PARAMETER_VALUE"),
        },
        "version" => {
            let version = seen.path.rsplit('=').next().unwrap_or_default();
            match held.versions.contains_key(version) {
                true => ok(&version_json(held, version).to_string()),
                false => error(404, "RESOURCE_DOES_NOT_EXIST"),
            }
        }
        "tag" if held.versions.contains_key(&text("version")) => {
            held.tags.insert((text("version"), text("key")), text("value"));
            ok("{}")
        }
        "move" if held.versions.contains_key(&text("version")) => {
            held.alias = Some(text("version"));
            held.moves.push(text("version"));
            ok("{}")
        }
        _ => error(404, "RESOURCE_DOES_NOT_EXIST"),
    }
}

fn version_json(held: &Held, version: &str) -> Json {
    let of_it = held.tags.iter().filter(|((of, _), _)| of == version);
    let tags: Vec<Json> = of_it.map(|((_, key), value)| json!({ "key": key, "value": value })).collect();
    let status = held.versions.get(version).cloned().unwrap_or_else(|| "READY".to_owned());
    json!({ "model_version": { "name": "fraud", "version": version, "status": status, "run_id": "r1", "tags": tags } })
}
