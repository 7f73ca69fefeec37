//! `sanare services`: what is under care, and how it is.

use sanare::core::service::Status;
use serde_json::json;

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

pub(crate) fn run(context: &Context) -> Result<Printed, Exit> {
    let healer = context.healer()?;
    let incidents = healer.incidents(1_000).map_err(Exit::store)?;
    let services = &healer.setup().configuration.services;
    let mut rows = Vec::new();
    for (application, service) in services {
        let mine = incidents.iter().filter(|one| one.application == *application);
        let ill: Vec<String> = mine
            .filter(|one| one.status() != Status::Closed)
            .map(|one| format!("{} {} ({})", one.kind, one.id, one.step))
            .collect();
        let stopped = healer.setup().is_stopped(None) || healer.setup().is_stopped(Some(application));
        rows.push((application, service.instances, ill, stopped));
    }
    if context.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(application, instances, ill, stopped)| {
                json!({ "application": application, "instances": instances, "stopped": stopped, "incidents": ill })
            })
            .collect();
        return Ok(Printed::text(pretty(&rows)));
    }
    let lines = rows.iter().map(|(application, _, ill, stopped)| {
        let how = if ill.is_empty() { "well".to_owned() } else { ill.join("; ") };
        format!("{application}: {how}{}", if *stopped { "; stopped" } else { "" })
    });
    Ok(Printed::text(lines.collect::<Vec<_>>().join("\n")))
}
