//! `sanare run-services`: the healer without a server, until it is ended. Ending it at any moment loses nothing.

use std::io::Write as _;

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
    healer.sound().map_err(|fault| {
        Exit::store(fault).hint("nothing of it is used; `sanare store backup` made copies to go back to")
    })?;
    if arguments.once {
        let pass = healer.run_once().map_err(Exit::store)?;
        healer.rest().map_err(Exit::store)?;
        let text = format!("{} readings, {} incidents opened, {} steps", pass.stored, pass.opened, pass.steps);
        return Ok(Printed::text(if context.json { crate::command::pretty(&pass) } else { text }));
    }
    healer.reload_on_hangup().map_err(|error| Exit::usage(format!("SIGHUP cannot be heard: {error}")))?;
    healer.on_reload(|done| {
        let said = match done {
            Ok(changed) if changed.is_empty() => "the configuration was read again: nothing has changed".to_owned(),
            Ok(changed) => {
                let keys: Vec<&str> = changed.iter().map(|one| one.key.as_str()).collect();
                format!("the configuration was read again, changed: {}", keys.join(", "))
            }
            Err(error) => format!("the configuration stays as it was: {error}"),
        };
        // A terminal that is gone is no reason to stop watching.
        drop(writeln!(std::io::stderr().lock(), "{said}"));
    });
    healer.on_beside(|said| drop(writeln!(std::io::stderr().lock(), "{said}")));
    healer.run();
    Ok(Printed::default())
}
