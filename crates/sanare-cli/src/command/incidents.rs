//! `sanare incidents`.

use sanare::operations::incidents::of_kind;

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only this status or outcome: open, waiting, applied, closed, healed, rolled_back, escalated, refused.
    #[arg(long)]
    status: Option<String>,
    /// What to list: incidents, or what `sanare.capture` kept.
    #[arg(long, default_value = "incident", value_parser = ["incident", "capture"])]
    kind: String,
    /// How many at most.
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

fn when(at: u64) -> String {
    sanare::report::utc(at).chars().take(16).collect()
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let store = context.store()?;
    let found =
        of_kind(store.as_ref(), &arguments.kind, arguments.status.as_deref(), arguments.limit).map_err(Exit::store)?;
    if context.json {
        return Ok(Printed::text(pretty(&found)));
    }
    let lines: Vec<String> = found
        .iter()
        .map(|report| {
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
        })
        .collect();
    Ok(Printed::text(lines.join("\n")))
}
