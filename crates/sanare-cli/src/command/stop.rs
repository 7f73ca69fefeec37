//! `sanare stop` and `sanare start`: files beside the store that are read before every act, for all or for one service.

use sanare::core::service::Application;

use crate::command::Context;
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// One service; without it everything in the project.
    service: Option<String>,
}

pub(crate) fn set(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let root = context.project_root()?;
    if let Some(service) = application(arguments)? {
        context.healer()?.stop(Some(&service)).map_err(Exit::store)?;
        return Ok(Printed::text(format!("stopped: nothing is done to {service} until `sanare start {service}`")));
    }
    sanare::operations::stop::stop(&root).map_err(Exit::store)?;
    if let Some(healer) = context.healer_if_any()? {
        healer.stop(None).map_err(Exit::store)?;
    }
    Ok(Printed::text(format!("stopped: nothing is repaired in {} until `sanare start`", root.display())))
}

pub(crate) fn lift(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let root = context.project_root()?;
    if let Some(service) = application(arguments)? {
        context.healer()?.start_again(Some(&service)).map_err(Exit::store)?;
        return Ok(Printed::text(format!("started: {service} may be acted on")));
    }
    sanare::operations::stop::start(&root).map_err(Exit::store)?;
    if let Some(healer) = context.healer_if_any()? {
        healer.start_again(None).map_err(Exit::store)?;
    }
    Ok(Printed::text(format!("started: repairs are allowed in {}", root.display())))
}

fn application(arguments: &Arguments) -> Result<Option<Application>, Exit> {
    arguments.service.as_deref().map(Application::parse).transpose().map_err(Exit::usage)
}
