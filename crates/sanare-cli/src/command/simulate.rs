//! `sanare simulate SERVICE RULE`: what would happen if a rule's signal went beyond its bound now; exit 1 if nothing would.

use sanare::core::ledger::Record;
use sanare::core::service::Application;
use sanare::service::{NotSimulated, simulate};
use serde_json::{Value as Json, json};

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The service.
    service: String,
    /// The id of its rule.
    rule: String,
    /// As if a version had gone live shortly before, after one that is known as good.
    #[arg(long)]
    changed: bool,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let application = Application::parse(arguments.service.as_str()).map_err(Exit::usage)?;
    let setup = context.setup()?;
    super::stop::known(&setup, &application)?;
    let rules = setup.configuration.services.get(&application).into_iter().flat_map(|service| &service.rules);
    let rules: Vec<String> = rules.map(|rule| format!("`{}`", rule.id)).collect();
    let can_be =
        if rules.is_empty() { "it has no rule".to_owned() } else { format!("its rules: {}", rules.join(", ")) };
    let simulated =
        simulate(&setup, &application, &arguments.rule, arguments.changed).map_err(|error| match error {
            NotSimulated::NoRule { .. } => Exit::not_found(error).hint(can_be),
            NotSimulated::Healer(_) => Exit::usage(error),
            NotSimulated::Store(_) => Exit::store(error),
        })?;
    let code = i32::from(simulated.incidents.is_empty());
    if context.json {
        let incidents: Vec<Json> = simulated
            .incidents
            .iter()
            .map(|(incident, records)| {
                let steps: Vec<Json> =
                    records.iter().map(|one| json!({ "step": one.step, "payload": one.json() })).collect();
                json!({ "incident": incident, "steps": steps })
            })
            .collect();
        let value = json!({ "opened_after_s": simulated.opened_after, "incidents": incidents });
        return Ok(Printed::with_code(pretty(&value), code));
    }
    let mut lines = Vec::new();
    match simulated.opened_after {
        Some(seconds) => lines.push(format!("opened after {seconds} s")),
        None => lines.push("no incident was opened".to_owned()),
    }
    for (incident, records) in &simulated.incidents {
        lines.push(format!("{} ({}): {}", incident.kind, incident.severity, incident.summary));
        lines.extend(records.iter().filter_map(line));
    }
    lines.push("nothing was asked, and nothing was touched".to_owned());
    Ok(Printed::with_code(lines.join("\n"), code))
}

/// What a step says to a person.
fn line(record: &Record) -> Option<String> {
    let payload = record.json();
    let text = |pointer: &str| payload.pointer(pointer).and_then(Json::as_str).unwrap_or("-").to_owned();
    Some(match record.step.as_str() {
        "diagnosed" => {
            let confidence = payload.pointer("/diagnosis/confidence").and_then(Json::as_f64).unwrap_or_default();
            format!("  cause: {} ({confidence})", text("/diagnosis/probable_cause"))
        }
        "proposed" => format!("  proposed: {} on {}", text("/proposal/action"), text("/proposal/target")),
        "judged" | "refused" => {
            let fired = payload.pointer("/decision/fired").and_then(Json::as_array).cloned().unwrap_or_default();
            let rules: Vec<String> = fired
                .iter()
                .map(|one| {
                    let word = |key: &str| one.get(key).and_then(Json::as_str).unwrap_or("-").to_owned();
                    format!("\n    {} {}: {}", word("verdict"), word("rule"), word("because"))
                })
                .collect();
            format!("  verdict: {}{}", text("/decision/verdict"), rules.concat())
        }
        "closed" => format!("  end: {}", text("/why")),
        _ => return None,
    })
}
