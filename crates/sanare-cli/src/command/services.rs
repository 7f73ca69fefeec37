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
        rows.push((application, service.instances, ill));
    }
    if context.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(application, instances, ill)| {
                json!({ "application": application, "instances": instances, "incidents": ill })
            })
            .collect();
        return Ok(Printed::text(pretty(&rows)));
    }
    let lines = rows.iter().map(|(application, _, ill)| match ill.is_empty() {
        true => format!("{application}: well"),
        false => format!("{application}: {}", ill.join("; ")),
    });
    Ok(Printed::text(lines.collect::<Vec<_>>().join("\n")))
}
