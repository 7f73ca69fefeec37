//! `sanare incident show|hold|release|retry|close`, `sanare propose`, `sanare target settle`, `sanare model mark-good`:
//! incidents of services, and what a person does about them.

use sanare::core::service::word::ReceiptState;
use sanare::core::service::{Action, Application, Incident, Version};
use sanare::engine::service::{NotDone, NotSettled};
use sanare::service::{NotByPerson, NotFound};
use serde_json::json;

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Show one incident of a service, and every step of its run.
    Show {
        /// Its id, or at least six characters of it.
        id: String,
    },
    /// Hold it: nothing is begun.
    Hold {
        /// Its id.
        id: String,
    },
    /// Let it go on.
    Release {
        /// Its id.
        id: String,
    },
    /// Begin anew with one that was handed over.
    Retry {
        /// Its id.
        id: String,
    },
    /// Close it, whatever fires.
    Close {
        /// Its id.
        id: String,
        /// Why, for the record.
        #[arg(long)]
        reason: String,
        /// Nothing was wrong.
        #[arg(long)]
        false_alarm: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Propose {
    /// The incident.
    incident: String,
    /// What to do: one of the actions that have a target.
    action: String,
    /// Why, for the record.
    #[arg(long)]
    reason: String,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Target {
    /// Say what came of an act of which nobody knows; its target is free again.
    Settle {
        /// The receipt.
        receipt: String,
        /// What came of it.
        #[arg(long = "as", value_parser = ["done", "failed", "undone"])]
        state: String,
        /// Why, for the record.
        #[arg(long)]
        reason: String,
    },
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Model {
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
    let healer = context.healer()?;
    let done = match command {
        Command::Show { id } => {
            let (incident, records) = healer.incident(id).map_err(not_found)?;
            let steps: Vec<_> = records.iter().map(|one| json!({ "at": one.at, "step": one.step })).collect();
            if context.json {
                let mut value = json!(incident);
                value["status"] = json!(incident.status());
                value["steps"] = json!(steps);
                return Ok(Printed::text(pretty(&value)));
            }
            let mut lines = vec![head(&incident)];
            lines.push(format!("  {}", incident.summary));
            lines.extend(
                incident.attempts.iter().map(|one| format!("  {}. {}: {}", one.number, one.action, one.summary)),
            );
            lines.extend(records.iter().map(|one| format!("  {}  {}", when(one.at), one.step)));
            return Ok(Printed::text(lines.join("\n")));
        }
        Command::Hold { id } => healer.hold(id, true).map(|id| format!("held: {id}")),
        Command::Release { id } => healer.hold(id, false).map(|id| format!("goes on: {id}")),
        Command::Retry { id } => healer.retry(id).map(|id| format!("begun anew: {id}")),
        Command::Close { id, reason, false_alarm } => {
            healer.close_incident(id, reason, *false_alarm).map(|id| format!("closed: {id}"))
        }
    };
    done.map(|text| said(context, text)).map_err(by_person)
}

/// One line of what was done, for a person or for a program.
fn said(context: &Context, text: String) -> Printed {
    Printed::text(if context.json { pretty(&json!({ "done": text })) } else { text })
}

pub(crate) fn propose(context: &Context, arguments: &Propose) -> Result<Printed, Exit> {
    let action = Action::parse(&arguments.action).map_err(Exit::usage)?;
    let done = context.healer()?.propose(&arguments.incident, action, &arguments.reason);
    let proposed = |id| format!("proposed: {action} for {id}\npolicy judges it, and somebody else approves it");
    done.map(|id| said(context, proposed(id))).map_err(by_person)
}

pub(crate) fn settle(context: &Context, Target::Settle { receipt, state, reason }: &Target) -> Result<Printed, Exit> {
    let state = ReceiptState::parse(state).map_err(Exit::usage)?;
    let done = context.healer()?.settle(receipt, state, reason);
    done.map(|()| said(context, format!("settled: {receipt} is {state}"))).map_err(by_person)
}

pub(crate) fn mark_good(context: &Context, command: &Model) -> Result<Printed, Exit> {
    let Model::MarkGood { application, version, reason } = command;
    let application = Application::parse(application.as_str()).map_err(Exit::usage)?;
    let version = Version::parse(version.as_str()).map_err(Exit::usage)?;
    let healer = context.healer()?;
    super::stop::known(healer.setup(), &application)?;
    healer.mark_good(&application, &version, reason).map_err(Exit::store)?;
    Ok(said(context, format!("known as good: {version} of {application}")))
}

/// One line of an incident.
pub(crate) fn head(incident: &Incident) -> String {
    let ended = incident.outcome.and_then(|one| serde_json::to_value(one).ok()?.as_str().map(str::to_owned));
    let stands = match ended {
        Some(outcome) => format!("{}, {outcome}", incident.status()),
        None => format!("{}, {}", incident.status(), incident.step),
    };
    format!(
        "{}  {}  {:<28} {}/{}: {} ({})",
        incident.id,
        when(incident.opened.millis()),
        stands,
        incident.application,
        incident.component,
        incident.kind,
        incident.severity
    )
}

pub(crate) fn when(at: u64) -> String {
    sanare::report::utc(at).chars().take(16).collect()
}

pub(crate) fn not_found(error: NotFound) -> Exit {
    match error {
        NotFound::Unknown(_) => Exit::not_found(error),
        NotFound::Ambiguous { .. } => Exit::usage(error).hint("give more of the id"),
        NotFound::Store(_) => Exit::store(error),
    }
}

fn by_person(error: NotByPerson) -> Exit {
    match error {
        NotByPerson::NotFound(error) => not_found(error),
        NotByPerson::NotDone(NotDone::Store(_)) | NotByPerson::NotSettled(NotSettled::Store(_)) => Exit::store(error),
        NotByPerson::NotSettled(NotSettled::Unknown) => Exit::not_found(error),
        _ => Exit::negative(error),
    }
}
