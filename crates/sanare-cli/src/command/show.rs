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
    let of_service = |id: &str| incident::run(context, &incident::Command::Show { id: id.to_owned() });
    let store = match context.store() {
        // Services may have a store of their own.
        Err(exit) if exit.code == 4 && context.healer_if_any()?.is_some() && !arguments.prompt => {
            return of_service(&arguments.id).map_err(|found| if found.code == 4 { exit } else { found });
        }
        store => store?,
    };
    if arguments.prompt {
        let prompts = prompts(store.as_ref(), &arguments.id).map_err(|error| shown(error, "sanare incident show"))?;
        if prompts.is_empty() {
            return Err(Exit::not_found(format!("no model was asked for `{}`", arguments.id)));
        }
        return Ok(Printed::text(if context.json { pretty(&prompts) } else { prompts_text(&prompts) }));
    }
    let report = match show(store.as_ref(), &arguments.id) {
        // `sanare incidents` lists both: an id of a service is shown here too.
        Err(Show::OfService { id, .. }) => return of_service(&id),
        Err(error @ Show::Unknown(_)) => match context.healer_if_any()? {
            Some(_) => return of_service(&arguments.id),
            None => return Err(shown(error, "sanare incident show")),
        },
        found => found.map_err(|error| shown(error, "sanare incident show"))?,
    };
    Ok(Printed::text(if context.json { pretty(&report) } else { report.to_text() }))
}
