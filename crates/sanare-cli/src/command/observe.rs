//! `sanare observe SERVICE SIGNAL VALUE`: a reading from a person or a script; the healer that runs looks at it within a
//! second.

use std::collections::BTreeMap;

use sanare::core::service::{
    Application, Component, Draft, Invalid, Labels, Moment, ObservationKind, ObservedValue, Signal,
};
use sanare::service::NotObserved;

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The service.
    service: String,
    /// The series.
    signal: String,
    /// The number; for other kinds a word or JSON, such as pass, or {"after": "7"}.
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// What it is about.
    #[arg(long, default_value = "metric")]
    kind: String,
    /// The part of the service.
    #[arg(long)]
    component: Option<String>,
    /// Unit of the number.
    #[arg(long)]
    unit: Option<String>,
    /// When it was true, such as 2026-11-30T12:00:00Z; now without it.
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// A label; may be repeated.
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// Your own id of the reading: the same one again is taken once.
    #[arg(long)]
    id: Option<String>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let draft = draft(arguments).map_err(Exit::usage)?;
    let seen = context.healer()?.observe(draft).map_err(|error| match error {
        NotObserved::Unknown(_) => Exit::no_service(error),
        NotObserved::Invalid(_) => Exit::usage(error),
        NotObserved::NotMade(sanare::core::service::NotMade::Conflict(_)) => Exit::negative(error),
        NotObserved::NotMade(_) => Exit::store(error),
    })?;
    let text = format!("taken: {} {} of {}", seen.id, seen.signal, seen.application);
    Ok(Printed::text(if context.json { pretty(&seen) } else { text }))
}

fn draft(arguments: &Arguments) -> Result<Draft, Invalid> {
    let kind = ObservationKind::parse(&arguments.kind)?;
    let given = arguments.value.trim();
    // A word such as `pass` or a version needs no quotation marks.
    let json = serde_json::from_str(given).unwrap_or_else(|_| serde_json::Value::from(given));
    let value = match (&json, kind) {
        (serde_json::Value::Number(version), ObservationKind::Deployment) => {
            serde_json::json!({ "after": version.to_string() })
        }
        (serde_json::Value::String(version), ObservationKind::Deployment) => serde_json::json!({ "after": version }),
        _ => json,
    };
    let mut labels = BTreeMap::new();
    for label in &arguments.labels {
        let (key, value) =
            label.split_once('=').ok_or_else(|| Invalid::new("label", format!("`{label}` is no KEY=VALUE")))?;
        if labels.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(Invalid::new("label", format!("`{key}` is there twice")));
        }
    }
    Ok(Draft {
        component: arguments.component.as_deref().map_or(Ok(Component::default()), Component::parse)?,
        unit: arguments.unit.clone(),
        event_time: arguments.at.as_deref().map(Moment::parse).transpose()?,
        source_id: arguments.id.clone(),
        labels: Labels::new(labels)?,
        ..Draft::new(
            Application::parse(arguments.service.as_str())?,
            Signal::parse(arguments.signal.as_str())?,
            ObservedValue::read(kind, &value)?,
        )
    })
}
