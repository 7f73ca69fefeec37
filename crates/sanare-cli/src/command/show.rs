//! `sanare show ID`.

use sanare::operations::show::{Show, prompts, prompts_text, show};

use crate::command::{Context, incident, pretty, shown};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The incident's id, or at least six characters of its beginning.
    id: String,
    /// Print what a model was sent instead: the redacted bytes of every call.
    #[arg(long)]
    prompt: bool,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let store = context.store()?;
    if arguments.prompt {
        let prompts = prompts(store.as_ref(), &arguments.id).map_err(shown)?;
        if prompts.is_empty() {
            return Err(Exit::not_found(format!("no model was asked for `{}`", arguments.id)));
        }
        return Ok(Printed::text(if context.json { pretty(&prompts) } else { prompts_text(&prompts) }));
    }
    let report = match show(store.as_ref(), &arguments.id) {
        // `sanare incidents` lists both: an id of a service is shown here too.
        Err(error @ Show::Unknown(_)) => match context.healer_if_any()? {
            Some(_) => return incident::run(context, &incident::Command::Show { id: arguments.id.clone() }),
            None => return Err(shown(error)),
        },
        found => found.map_err(shown)?,
    };
    Ok(Printed::text(if context.json { pretty(&report) } else { report.to_text() }))
}
