//! `sanare incident show|ack|hold|release|retry|close|undo`: incidents of services, and what a person does about them.

use sanare::core::ledger::Record;
use sanare::core::service::Incident;
use sanare::engine::service::{NotDone, NotSettled, acknowledged_by};
use sanare::operations::show::{Show, find};
use sanare::service::story::story;
use sanare::service::{Healer, NotByPerson, NotFound};
use serde_json::json;

use crate::command::{Context, pretty, shown};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Show one incident of a service, and every step of its run.
    Show {
        /// Its id, or at least six characters of it.
        id: String,
    },
    /// Note that you have seen it: nobody else need be told.
    Ack {
        /// Its id.
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
    /// Take its last act back.
    Undo {
        /// Its id.
        id: String,
        /// Why, for the record.
        #[arg(long)]
        reason: String,
    },
}

impl Command {
    fn id(&self) -> &str {
        match self {
            Self::Show { id }
            | Self::Ack { id }
            | Self::Hold { id }
            | Self::Release { id }
            | Self::Retry { id }
            | Self::Close { id, .. }
            | Self::Undo { id, .. } => id,
        }
    }

    /// The verb for an incident of code that does what is nearest to it.
    fn of_code(&self) -> &'static str {
        match self {
            Self::Retry { .. } => "sanare retry",
            Self::Undo { .. } => "sanare revert",
            Self::Close { .. } => "sanare deny",
            Self::Show { .. } | Self::Ack { .. } | Self::Hold { .. } | Self::Release { .. } => "sanare show",
        }
    }
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<Printed, Exit> {
    let (healer, id) = of_service(context, command.id(), command.of_code())?;
    let done = match command {
        Command::Show { .. } => {
            let (incident, records) = healer.incident(&id).map_err(not_found)?;
            let next = healer.next_for(&incident, &records);
            return Ok(shown_whole(context, &incident, &records, &next));
        }
        Command::Ack { .. } => healer.acknowledge(&id).map(|id| format!("seen: {id}")),
        Command::Hold { .. } => healer.hold(&id, true).map(|id| format!("held: {id}")),
        Command::Release { .. } => healer.hold(&id, false).map(|id| format!("goes on: {id}")),
        Command::Retry { .. } => healer.retry(&id).map(|id| format!("begun anew: {id}")),
        Command::Undo { reason, .. } => {
            healer.undo(&id, reason).map(|id| format!("its last act is taken back by the healer that runs: {id}"))
        }
        Command::Close { reason, false_alarm, .. } => {
            let was = healer.incident(&id).is_ok_and(|(one, _)| one.status().word() == "closed");
            let said = if was { "called a false alarm" } else { "closed" };
            healer.close_incident(&id, reason, *false_alarm).map(|id| format!("{said}: {id}"))
        }
    };
    done.map(|text| said(context, text)).map_err(by_person)
}

/// The healer, and the whole id of an incident of a service. What names one of code, or one of each, is said; `code` is the
/// verb for one of code.
pub(crate) fn of_service(context: &Context, given: &str, code: &str) -> Result<(Healer, String), Exit> {
    let known = context.store().ok().map(|store| find(store.as_ref(), given));
    let id = match known {
        Some(Ok(id)) => {
            let exit = Exit::usage(format!("`{id}` is an incident of code, and not of a service"));
            return Err(exit.hint(format!("for it there is `{code} {id}`")));
        }
        Some(Err(error @ Show::Ambiguous { .. })) => return Err(shown(error, code)),
        Some(Err(Show::OfService { id, .. })) => id,
        // Services may have a store of their own.
        Some(Err(_)) | None => given.to_owned(),
    };
    Ok((context.healer()?, id))
}

fn shown_whole(context: &Context, incident: &Incident, records: &[Record], next: &[String]) -> Printed {
    let steps = story(records);
    let seen_by = acknowledged_by(records);
    if context.json {
        let mut value = json!(incident);
        value["status"] = json!(incident.status());
        value["acknowledged_by"] = json!(seen_by);
        value["steps"] = json!(steps);
        value["next"] = json!(next);
        return Printed::text(pretty(&value));
    }
    let mut lines = vec![head(incident), format!("  {}", incident.summary)];
    if !incident.flags.is_empty() {
        let flags: Vec<&str> = incident.flags.iter().map(|flag| flag.word()).collect();
        lines.push(format!("  marked: {}", flags.join(", ")));
    }
    lines.extend(seen_by.map(|name| format!("  seen by {name}")));
    lines.extend(incident.attempts.iter().map(|one| {
        let receipt = one.receipt_id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
        format!("  {}. {}: {}{receipt}", one.number, one.action, one.summary)
    }));
    for one in &steps {
        lines.push(format!("  {}  {}", when(one.at), one.step));
        lines.extend(one.lines.iter().map(|line| format!("      {line}")));
    }
    lines.extend(next.iter().map(|command| format!("  next: {command}")));
    Printed::text(lines.join("\n"))
}

/// One line of what was done, for a person or for a program.
pub(crate) fn said(context: &Context, text: String) -> Printed {
    Printed::text(if context.json { pretty(&json!({ "done": text })) } else { text })
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
        NotFound::OfCode { ref id, .. } => {
            let hint = format!("for it there is `sanare show {id}`");
            Exit::usage(error).hint(hint)
        }
        NotFound::Store(_) => Exit::store(error),
    }
}

pub(crate) fn by_person(error: NotByPerson) -> Exit {
    match error {
        NotByPerson::NotFound(error) => not_found(error),
        NotByPerson::NotDone(NotDone::Store(_)) | NotByPerson::NotSettled(NotSettled::Store(_)) => Exit::store(error),
        NotByPerson::NotSettled(NotSettled::Unknown) => Exit::not_found(error),
        NotByPerson::NotDone(NotDone::NoReason) | NotByPerson::NotSettled(NotSettled::NoReason) => Exit::usage(error),
        _ => Exit::negative(error),
    }
}
