//! `sanare services`: what is under care, and how it is.

use sanare::core::service::Status;
use serde_json::json;

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

pub(crate) fn run(context: &Context) -> Result<Printed, Exit> {
    let healer = context.healer()?;
    let incidents = healer.incidents(1_000).map_err(Exit::store)?;
    let setup = healer.setup();
    let services = &setup.configuration.services;
    // What people were to be told and nobody has taken is seen here, whatever is wrong with the way.
    let undelivered = healer.undelivered().map_err(Exit::store)?;
    let intake = healer.intake().map_err(Exit::store)?;
    let mut rows = Vec::new();
    for (application, service) in services {
        let mine = incidents.iter().filter(|one| one.application == *application);
        let ill: Vec<String> = mine
            .filter(|one| one.status() != Status::Closed)
            .map(|one| format!("{} {} ({})", one.kind, one.id, one.step))
            .collect();
        let stopped = healer.setup().is_stopped(None) || healer.setup().is_stopped(Some(application));
        let of =
            |incident: &str| incidents.iter().any(|one| one.application == *application && one.id.as_str() == incident);
        let untold: Vec<String> = undelivered.iter().filter(|one| of(&one.incident)).map(ToString::to_string).collect();
        rows.push((application, service.instances, ill, stopped, untold));
    }
    if context.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(application, instances, ill, stopped, untold)| {
                json!({ "application": application, "instances": instances, "stopped": stopped, "incidents": ill,
                        "undelivered": untold,
                        "intake": intake.iter().filter(|one| one.application == application.as_str()).collect::<Vec<_>>() })
            })
            .collect();
        return Ok(Printed::text(pretty(&rows)));
    }
    let lines = rows.iter().map(|(application, _, ill, stopped, untold)| {
        let how = if ill.is_empty() { "well".to_owned() } else { ill.join("; ") };
        let untold: String = untold.iter().map(|one| format!("\n  {one}")).collect();
        format!("{application}: {how}{}{untold}", if *stopped { "; stopped" } else { "" })
    });
    Ok(Printed::text(lines.collect::<Vec<_>>().join("\n")))
}
