//! `sanare detect replay`: what this configuration would have opened in what was recorded.

use sanare::core::service::{Application, Moment};
use sanare::service::{NotReplayed, WouldOpen};

use crate::command::{Context, check, incident, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run recorded readings through the detectors as they are configured now: what would have opened, and when. Nothing
    /// is stored, told or done.
    Replay(Replay),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Replay {
    /// Only this service.
    application: Option<String>,
    /// Only what came since then, such as 2026-03-01T22:00:00+01:00.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
}

pub(crate) fn run(context: &Context, Command::Replay(arguments): &Command) -> Result<Printed, Exit> {
    let application = arguments.application.as_deref().map(Application::parse).transpose().map_err(Exit::usage)?;
    let since = arguments.since.as_deref().map(Moment::parse).transpose().map_err(Exit::usage)?;
    let detected = context.setup()?.replay_detection(application.as_ref(), since).map_err(|error| match error {
        NotReplayed::Configuration(troubles) => check::wrong(&troubles),
        NotReplayed::UnknownService(_) => Exit::no_service(error),
        NotReplayed::NoStore(_) => Exit::not_found(error).hint("`sanare run-services` makes one"),
        NotReplayed::Store(_) => Exit::store(error),
    })?;
    if context.json {
        return Ok(Printed::text(pretty(&detected)));
    }
    let mut lines: Vec<String> = detected.opened.iter().map(line).collect();
    let span = detected.from.zip(detected.to).map(|(from, to)| format!(" from {} to {}", when(from), when(to)));
    let count = |number: u64, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let opened = count(detected.opened.len() as u64, "incident");
    let readings = count(detected.readings, "reading");
    lines.push(format!("{readings}{}: {opened} would have opened", span.unwrap_or_default()));
    if detected.crowded > 0 {
        lines.push(format!("{} readings were not taken: there are too many signals", detected.crowded));
    }
    Ok(Printed::text(lines.join("\n")))
}

fn line(one: &WouldOpen) -> String {
    let cleared = one.cleared.map_or_else(|| "still firing".to_owned(), |at| format!("cleared {}", when(at)));
    let WouldOpen { application, component, kind, severity, rule, .. } = one;
    format!("{}  {application}/{component}: {kind} ({severity}) by `{rule}`, {cleared}", when(one.opened))
}

fn when(at: Moment) -> String {
    incident::when(at.millis())
}
