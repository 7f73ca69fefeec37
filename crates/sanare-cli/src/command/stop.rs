//! `sanare stop` and `sanare start`: files beside the store that are read before every act, for all or for one service.
//! Neither needs a store that works: the switch is for the worst night.

use std::path::Path;

use sanare::core::service::Application;
use sanare::service::Setup;
use serde_json::json;

use crate::command::{Context, check, pretty};
use crate::output::{Exit, Printed, print};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// One service; without it everything in the project.
    service: Option<String>,
}

pub(crate) fn set(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let root = context.project_root()?;
    let Some(service) = application(arguments)? else {
        sanare::operations::stop::stop(&root).map_err(Exit::store)?;
        let said = format!("stopped: nothing is repaired in {} until `sanare start`", root.display());
        let setup = configured(context, &root, &printed(context, said.clone(), true, None))?;
        return withdrawn(context, setup.as_ref(), None, said);
    };
    let setup = context.setup().map_err(|exit| exit.hint("`sanare stop` without a service needs no configuration"))?;
    known(&setup, &service)?;
    let said = format!("stopped: nothing is done to {service} until `sanare start {service}`");
    withdrawn(context, Some(&setup), Some(&service), said)
}

pub(crate) fn lift(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let root = context.project_root()?;
    let Some(service) = application(arguments)? else {
        sanare::operations::stop::start(&root).map_err(Exit::store)?;
        let said = format!("started: repairs are allowed in {}", root.display());
        let printed = printed(context, said, false, None);
        if let Some(setup) = configured(context, &root, &printed)? {
            setup.start_again(None).map_err(Exit::store)?;
        }
        return Ok(printed);
    };
    let setup = context.setup()?;
    // The switch of a service that has left the configuration can still be lifted.
    if !setup.is_stopped(Some(&service)) {
        known(&setup, &service)?;
    }
    setup.start_again(Some(&service)).map_err(Exit::store)?;
    Ok(printed(context, format!("started: {service} may be acted on"), false, Some(&service)))
}

/// The configuration, where there is one. One that cannot be read may name another store: then what was done at the
/// usual place is told, and that it may not be all.
fn configured(context: &Context, root: &Path, done: &Printed) -> Result<Option<Setup>, Exit> {
    let Some(path) = Setup::locate(context.config.as_deref(), root) else { return Ok(None) };
    Setup::read(&path).map(Some).map_err(|troubles| {
        let wrong = check::wrong(&troubles).message;
        print(done);
        let why = format!("that is for the store at the usual place; the configuration is wrong: {wrong}");
        Exit::usage(why).hint("a store that `store.path` names has its own file `STOP` beside it")
    })
}

/// Sets the switch of services first, then voids the questions that wait: the switch holds whatever the store says.
fn withdrawn(
    context: &Context,
    setup: Option<&Setup>,
    service: Option<&Application>,
    said: String,
) -> Result<Printed, Exit> {
    if let Some(setup) = setup.filter(|setup| !setup.configuration.services.is_empty()) {
        setup.stop(service).map_err(Exit::store)?;
        let still = |why: String| {
            print(&printed(context, said.clone(), true, service));
            Exit::store(format!("questions that wait could not be withdrawn: {why}"))
        };
        let healer = context.healer().map_err(|exit| still(exit.message))?;
        healer.stop(service).map_err(|error| still(error.to_string()))?;
    }
    Ok(printed(context, said, true, service))
}

fn printed(context: &Context, said: String, stopped: bool, service: Option<&Application>) -> Printed {
    Printed::text(if context.json { pretty(&json!({ "stopped": stopped, "service": service })) } else { said })
}

/// A slip of the pen must not look like a switch that holds.
pub(crate) fn known(setup: &Setup, service: &Application) -> Result<(), Exit> {
    setup.has(service).map_err(|unknown| Exit::not_found(unknown).hint("`sanare services` lists what there is"))
}

fn application(arguments: &Arguments) -> Result<Option<Application>, Exit> {
    arguments.service.as_deref().map(Application::parse).transpose().map_err(Exit::usage)
}
