//! `sanare report`: figures of what was detected, decided, done and healed in services.

use sanare::core::service::figures::{ActFigures, FailureFigures, Figures, IncidentFigures, Times};
use sanare::core::service::{Application, Moment};

use crate::command::{Context, ledger, pretty, stop};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only of this service.
    service: Option<String>,
    /// Only incidents that were opened since, such as 30d or 2026-11-30T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let application = arguments.service.as_deref().map(Application::parse).transpose().map_err(Exit::usage)?;
    let since = arguments.since.as_deref().map(ledger::time).transpose()?.map(Moment::from_millis);
    let healer = context.healer()?;
    if let Some(application) = &application {
        stop::known(&healer.setup(), application)?;
    }
    let figures = healer.report(application.as_ref(), since).map_err(Exit::store)?;
    Ok(Printed::text(if context.json { pretty(&figures) } else { text(&figures) }))
}

fn text(figures: &Figures) -> String {
    if figures.incidents.is_empty() {
        return "no incident was opened in that time".to_owned();
    }
    let mut lines: Vec<String> = figures.incidents.iter().flat_map(of_kind).collect();
    if !figures.acts.is_empty() {
        lines.push("acts:".to_owned());
        lines.extend(figures.acts.iter().map(of_act));
    }
    if !figures.agent_failures.is_empty() {
        lines.push("agents that failed, by type:".to_owned());
        let told = |one: &FailureFigures| format!("  {} {}: {}", one.application, one.failure, one.count);
        lines.extend(figures.agent_failures.iter().map(told));
    }
    lines.join("\n")
}

fn of_kind(one: &IncidentFigures) -> Vec<String> {
    let counts = [
        ("open", one.open),
        ("healed", one.healed),
        ("healed by itself", one.healed_by_itself),
        ("undone", one.undone),
        ("escalated", one.escalated),
        ("refused", one.refused),
        ("false heals", one.false_heals),
        ("false alarms", one.false_alarms),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{count} {what}")).collect();
    let mut lines =
        vec![format!("{} {}: {} incidents: {}", one.application, one.kind, one.incidents, counts.join(", "))];
    let times = [
        ("to detect", one.detect),
        ("to diagnose", one.diagnose),
        ("to decide", one.decide),
        ("with people", one.wait),
        ("to recover", one.recover),
    ];
    lines.extend(times.iter().filter_map(|(what, times)| Some(format!("  {what:<12} {}", told((*times)?)))));
    lines
}

fn of_act(one: &ActFigures) -> String {
    let agent = one.agent.as_deref().unwrap_or("not known by whom");
    let act = one.act.map(|times| format!(", {}", told(times))).unwrap_or_default();
    format!(
        "  {} {} {} ({agent}): {} begun, {} recovered, {} failed, {} not known, {} undone{act}",
        one.application, one.kind, one.action, one.begun, one.recovered, one.failed, one.not_known, one.undone
    )
}

fn told(times: Times) -> String {
    let seconds = |millis: u64| format!("{}.{} s", millis / 1_000, millis % 1_000 / 100);
    match times.known {
        1 => seconds(times.median_ms),
        known => format!("{} median, {} at most ({known} known)", seconds(times.median_ms), seconds(times.longest_ms)),
    }
}
