//! `sanare run-services`: the healer without a server, until it is ended. Ending it at any moment loses nothing.

use crate::command::Context;
use crate::output::{Exit, Printed, complain};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// One pass, and what it did.
    #[arg(long)]
    once: bool,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let healer = context.healer()?;
    let policy = sanare::service::checked(&healer.setup()).map_err(|troubles| super::check::wrong(&troubles))?;
    if let Some(exit) = super::check::unusable(&healer.setup(), &policy) {
        complain(&exit);
    }
    if arguments.once {
        let pass = healer.run_once().map_err(Exit::store)?;
        healer.rest().map_err(Exit::store)?;
        let text = format!("{} readings, {} incidents opened, {} steps", pass.stored, pass.opened, pass.steps);
        return Ok(Printed::text(if context.json { crate::command::pretty(&pass) } else { text }));
    }
    healer.reload_on_hangup().map_err(|error| Exit::usage(format!("SIGHUP cannot be heard: {error}")))?;
    healer.on_reload(|done| match done {
        Ok(changed) if changed.is_empty() => eprintln!("the configuration was read again: nothing has changed"),
        Ok(changed) => {
            let keys: Vec<&str> = changed.iter().map(|one| one.key.as_str()).collect();
            eprintln!("the configuration was read again, changed: {}", keys.join(", "));
        }
        Err(error) => eprintln!("the configuration stays as it was: {error}"),
    });
    healer.run();
    Ok(Printed::default())
}
