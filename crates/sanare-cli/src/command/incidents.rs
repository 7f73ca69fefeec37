//! `sanare incidents`: one list for code and services.

use clap::builder::{PossibleValue, PossibleValuesParser};
use sanare::core::service::word::StepName;
use sanare::core::service::{Incident, Status};
use sanare::operations::incidents::of_kind;
use sanare::report::Report;

use crate::command::incident::{head, when};
use crate::command::{Context, pretty};
use crate::output::{Exit, Printed, complain};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only this status or outcome: open, waiting, applied, closed, healed, rolled_back, escalated, refused.
    #[arg(long, value_parser = statuses())]
    status: Option<String>,
    /// What to list: incidents, or what `sanare.capture` kept.
    #[arg(long, default_value = "incident", value_parser = ["incident", "capture"])]
    kind: String,
    /// How many at most.
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

/// Every word that a status, an outcome or a step of a run can be: a slip must not look like an empty list.
fn statuses() -> PossibleValuesParser {
    let told = ["open", "waiting", "applied", "closed", "healed", "rolled_back", "escalated", "refused"];
    let mut all: Vec<PossibleValue> = told.iter().map(PossibleValue::new).collect();
    let steps = StepName::ALL.iter().map(|step| step.word());
    let states = Status::ALL.iter().map(|status| status.word());
    let mut more: Vec<&str> = steps.chain(states).chain(["dry_run", "observed"]).collect();
    more.sort_unstable();
    more.dedup();
    all.extend(more.into_iter().filter(|word| !told.contains(word)).map(|word| PossibleValue::new(word).hide(true)));
    PossibleValuesParser::new(all)
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    context.project_root()?;
    // Code is listed whatever the configuration of services says, and that services are missing is said.
    let services = services(context, arguments).or_else(|exit| {
        // A file that was named for this call has to be there.
        let wrong = exit.code == 2 && context.config.is_none();
        let said = Exit::usage(format!("incidents of services are not listed: {}", exit.message));
        if wrong {
            complain(&said.hint("`sanare check` reads the file"))
        } else {
            return Err(exit);
        };
        Ok(Vec::new())
    })?;
    let store = match context.store() {
        Ok(store) => store,
        Err(exit) if services.is_empty() => return Err(exit),
        Err(_) => return Ok(listed(context, &[], &services)),
    };
    let found =
        of_kind(store.as_ref(), &arguments.kind, arguments.status.as_deref(), arguments.limit).map_err(Exit::store)?;
    Ok(listed(context, &found, &services))
}

/// Incidents of services, newest first.
fn services(context: &Context, arguments: &Arguments) -> Result<Vec<Incident>, Exit> {
    if arguments.kind != "incident" {
        return Ok(Vec::new());
    }
    let Some(healer) = context.healer_if_any()? else { return Ok(Vec::new()) };
    let all = healer.incidents(arguments.limit).map_err(Exit::store)?;
    let fits = |one: &Incident| {
        let word = |value: serde_json::Value| value.as_str().map(str::to_owned);
        let words = [
            Some(one.status().word().to_owned()),
            Some(one.step.word().to_owned()),
            word(serde_json::json!(one.outcome)),
        ];
        arguments.status.as_ref().is_none_or(|wanted| words.iter().flatten().any(|word| word == wanted))
    };
    Ok(all.into_iter().filter(fits).collect())
}

fn listed(context: &Context, found: &[Report], services: &[Incident]) -> Printed {
    if context.json {
        let mut all: Vec<serde_json::Value> = found.iter().map(|one| serde_json::json!(one)).collect();
        all.extend(services.iter().map(|one| serde_json::json!(one)));
        return Printed::text(pretty(&all));
    }
    let mut lines: Vec<String> = found.iter().map(line).collect();
    lines.extend(services.iter().map(head));
    Printed::text(lines.join("\n"))
}

fn line(report: &Report) -> String {
    let head = format!(
        "{}  {}  {:<28} {}  {}:{}",
        report.id,
        when(report.created_at),
        report.headline(),
        report.function,
        report.path,
        report.line
    );
    // What waits is what somebody has to do something about.
    let do_now = report.next.first().filter(|_| report.status == "waiting");
    do_now.map_or(head.clone(), |step| format!("{head}\n    {step}"))
}
