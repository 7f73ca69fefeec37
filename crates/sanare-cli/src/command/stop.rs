//! `sanare stop` and `sanare start`: files beside the store that are read before every act, for all or for one service.
//! Setting one needs no store that works: it is for the worst night.

use std::path::Path;

use sanare::core::service::Application;
use sanare::operations::stop::record;
use sanare::service::{Healer, NotStarted, Setup};
use serde_json::json;

use crate::command::{Context, check, pretty};
use crate::output::{Exit, Printed, print};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// One service; without it everything in the project.
    service: Option<String>,
    /// Why; whoever lets services be acted on again says it.
    #[arg(long, default_value = "", hide_default_value = true)]
    reason: String,
}

pub(crate) fn set(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let root = context.project_root()?;
    let Some(service) = application(arguments)? else {
        sanare::operations::stop::stop(&root, &arguments.reason).map_err(Exit::store)?;
        let said = format!("stopped: nothing is repaired in {} until `sanare start`", root.display());
        let setup = configured(context, &root, &printed(context, said.clone(), true, None))?;
        if setup.is_none() {
            written(context, "stopped", &arguments.reason).inspect_err(|_| {
                print(&printed(context, said.clone(), true, None));
            })?;
        }
        return withdrawn(context, setup.as_ref(), None, &arguments.reason, said);
    };
    let setup = context.setup().map_err(|exit| exit.hint("`sanare stop` without a service needs no configuration"))?;
    known(&setup, &service)?;
    let said = format!("stopped: nothing is done to {service} until `sanare start {service}`");
    withdrawn(context, Some(&setup), Some(&service), &arguments.reason, said)
}

/// Lifts the switch. Of services somebody who may lets go on, says why, and it is in the ledger first.
pub(crate) fn lift(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let root = context.project_root()?;
    let Some(service) = application(arguments)? else {
        let said = format!("started: repairs are allowed in {}", root.display());
        let done = printed(context, said, false, None);
        match context.healer_if_any()? {
            Some(healer) => started(&healer, None, &arguments.reason)?,
            None => written(context, "started", &arguments.reason)?,
        }
        sanare::operations::stop::start(&root).map_err(Exit::store)?;
        return Ok(done);
    };
    let setup = context.setup()?;
    // The switch of a service that has left the configuration can still be lifted.
    if !setup.is_stopped(Some(&service)) {
        known(&setup, &service)?;
    }
    started(&context.healer()?, Some(&service), &arguments.reason)?;
    Ok(printed(context, format!("started: {service} may be acted on"), false, Some(&service)))
}

fn started(healer: &Healer, service: Option<&Application>, reason: &str) -> Result<(), Exit> {
    healer.start_again(service, reason).map_err(|error| match error {
        NotStarted::NoReason => Exit::usage(error).hint("say with --reason why acting is safe again"),
        NotStarted::NotAllowed(..) => {
            Exit { code: 3, ..Exit::usage(error) }.hint("ask one of the approvers of the policy file")
        }
        NotStarted::Store(_) | NotStarted::File(_) => Exit::store(error),
    })
}

/// In the ledger, where a project without services has one.
fn written(context: &Context, step: &str, reason: &str) -> Result<(), Exit> {
    match context.store_path() {
        Ok(_) => record(context.store()?.as_ref(), step, reason).map_err(Exit::store),
        Err(none) if none.code == 4 => Ok(()),
        Err(other) => Err(other),
    }
}

/// The configuration, where there is one that has services. One that cannot be read may name another store: then what was done at the
/// usual place is told, and that it may not be all.
fn configured(context: &Context, root: &Path, done: &Printed) -> Result<Option<Setup>, Exit> {
    let Some(path) = Setup::locate(context.config.as_deref(), root) else { return Ok(None) };
    let services = |setup: Setup| Some(setup).filter(|setup| !setup.configuration.services.is_empty());
    Setup::read(&path).map(services).map_err(|troubles| {
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
    reason: &str,
    said: String,
) -> Result<Printed, Exit> {
    if let Some(setup) = setup {
        setup.stop(service, reason).map_err(Exit::store)?;
        let still = |why: String| {
            print(&printed(context, said.clone(), true, service));
            Exit::store(format!("questions that wait could not be withdrawn: {why}"))
        };
        let healer = context.healer().map_err(|exit| still(exit.message))?;
        healer.stop(service, reason).map_err(|error| still(error.to_string()))?;
    }
    Ok(printed(context, said, true, service))
}

fn printed(context: &Context, said: String, stopped: bool, service: Option<&Application>) -> Printed {
    Printed::text(if context.json { pretty(&json!({ "stopped": stopped, "service": service })) } else { said })
}

/// A slip of the pen must not look like a switch that holds.
pub(crate) fn known(setup: &Setup, service: &Application) -> Result<(), Exit> {
    setup.has(service).map_err(Exit::no_service)
}

fn application(arguments: &Arguments) -> Result<Option<Application>, Exit> {
    arguments.service.as_deref().map(Application::parse).transpose().map_err(Exit::usage)
}
