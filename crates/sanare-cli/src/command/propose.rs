//! `sanare propose`: a person proposes what to do about an incident of a service.

use sanare::core::service::Action;

use crate::command::Context;
use crate::command::incident::{by_person, of_service, said};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The incident.
    incident: String,
    /// What to do: one of the actions that have a target.
    action: String,
    /// Why, for the record.
    #[arg(long)]
    reason: String,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let action = Action::parse(&arguments.action).map_err(Exit::usage)?;
    let (healer, id) = of_service(context, &arguments.incident, "sanare show")?;
    let done = healer.propose(&id, action, &arguments.reason);
    let proposed = |id| format!("proposed: {action} for {id}\npolicy judges it, and somebody else approves it");
    done.map(|id| said(context, proposed(id))).map_err(by_person)
}
