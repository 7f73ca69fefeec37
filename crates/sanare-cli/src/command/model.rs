//! `sanare model mark-good`: versions of models.

use sanare::core::service::{Application, Version};
use sanare::service::NotMarked;

use crate::command::incident::said;
use crate::command::{Context, stop};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
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
    let Command::MarkGood { application, version, reason } = command;
    let application = Application::parse(application.as_str()).map_err(Exit::usage)?;
    let version = Version::parse(version.as_str()).map_err(Exit::usage)?;
    let healer = context.healer()?;
    stop::known(healer.setup(), &application)?;
    healer.mark_good(&application, &version, reason).map_err(|error| match error {
        NotMarked::NoReason => Exit::usage(error),
        NotMarked::NotMade(_) => Exit::store(error),
    })?;
    Ok(said(context, format!("known as good: {version} of {application}")))
}
