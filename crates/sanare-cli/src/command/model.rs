//! `sanare model history|mark-good`: versions of models.

use sanare::core::service::{Application, Version};
use sanare::service::{Healer, NotMarked};
use serde_json::Value as Json;

use crate::command::incident::said;
use crate::command::{Context, pretty, stop};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Show which version was live when, and what is known of each.
    History {
        /// The service.
        application: String,
    },
    /// Show what the registry told of the model, each time that it told something else.
    Registry {
        /// The service.
        application: String,
    },
    /// Call a version known-good, for rollbacks.
    MarkGood {
        /// The service.
        application: String,
        /// The version.
        version: String,
        /// Why, for the record.
        #[arg(long)]
        reason: String,
    },
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<Printed, Exit> {
    match command {
        Command::History { application } => {
            let (healer, application) = of(context, application)?;
            let spans = healer.model_history(&application);
            if context.json {
                return Ok(Printed::text(pretty(&spans)));
            }
            let lines = spans.iter().map(|span| {
                let to = span.to.map_or("now".to_owned(), |to| to.to_string());
                format!("{}  {}  from {} to {to}, moved by {}", span.version, span.standing, span.from, span.moved_by)
            });
            Ok(Printed::text(lines.collect::<Vec<_>>().join("\n")))
        }
        Command::Registry { application } => {
            let (healer, application) = of(context, application)?;
            let told = healer.registry_history(&application).map_err(Exit::store)?;
            if context.json {
                return Ok(Printed::text(pretty(&told)));
            }
            let lines = told.iter().map(|one| {
                let word = |key: &str| one.told[key].as_str().unwrap_or("-").to_owned();
                let names = match (&one.told["version"], &one.told["exists"]) {
                    (Json::String(version), Json::Bool(false)) => format!("{version}, which does not exist"),
                    (Json::String(version), _) => version.clone(),
                    _ => "nothing".to_owned(),
                };
                let (alias, status, run) = (word("alias"), word("status"), word("run"));
                format!("{}  {alias} names {names}  status {status}  run {run}  tags {}", one.at, one.told["tags"])
            });
            Ok(Printed::text(lines.collect::<Vec<_>>().join("\n")))
        }
        Command::MarkGood { application, version, reason } => {
            let version = Version::parse(version.as_str()).map_err(Exit::usage)?;
            let (healer, application) = of(context, application)?;
            healer.mark_good(&application, &version, reason).map_err(|error| match error {
                NotMarked::NoReason => Exit::usage(error),
                NotMarked::NotMade(_) => Exit::store(error),
            })?;
            Ok(said(context, format!("known as good: {version} of {application}")))
        }
    }
}

fn of(context: &Context, application: &str) -> Result<(Healer, Application), Exit> {
    let application = Application::parse(application).map_err(Exit::usage)?;
    let healer = context.healer()?;
    stop::known(&healer.setup(), &application)?;
    Ok((healer, application))
}
