//! The provider `command`: any program that reads a request and prints a reply.
//!
//! It runs in a private folder, in a process group that is killed at the deadline, and sees what C95 allows: `PATH`,
//! `HOME` (that folder), `LANG`, `TZ`, `VIRTUAL_ENV`, and the variable that `model.api_key_env` names.

use std::ffi::OsString;
use std::time::Duration;

use sanare_core::model::setup::{KeyPlace, Setup};
use sanare_core::model::wire::Outgoing;
use sanare_core::port::{CallFault, Incoming};

use crate::task::{Task, TaskEnd, run_while_wanted};
use crate::trial::PrivateFolder;

/// Bytes of a reply, more than any that is read.
const OUTPUT: usize = 256 * 1024;

/// Runs the program once.
pub fn ask(
    setup: &Setup,
    outgoing: &Outgoing,
    millis: u64,
    gone: &mut dyn FnMut() -> bool,
) -> Result<Incoming, CallFault> {
    let Some((program, arguments)) = setup.argv.split_first() else {
        return Err(CallFault::CannotStart("`model.argv` is empty".to_owned()));
    };
    let folder = PrivateFolder::create().map_err(|error| CallFault::CannotStart(error.kind().to_string()))?;
    let named = ["PATH", "LANG", "TZ", "VIRTUAL_ENV"].map(OsString::from).into_iter();
    let own = match &setup.key {
        KeyPlace::Variable(name) => Some(OsString::from(name)),
        _ => None,
    };
    let mut environment: Vec<(OsString, OsString)> =
        named.chain(own).filter_map(|name| std::env::var_os(&name).map(|value| (name, value))).collect();
    environment.push(("HOME".into(), folder.path().into()));
    let task = Task {
        program: program.into(),
        arguments: arguments.iter().map(OsString::from).collect(),
        folder: folder.path().to_owned(),
        environment,
        input: outgoing.body.as_ref().to_string().into_bytes(),
        deadline: Duration::from_millis(millis.min(setup.timeout_ms)),
        output: OUTPUT + 1,
    };
    let done = run_while_wanted(&task, None, gone).map_err(|why| CallFault::CannotStart(why.to_string()))?;
    match done.end {
        TaskEnd::TimedOut => Err(CallFault::Timeout),
        TaskEnd::Exited(0) if done.output.len() > OUTPUT => Err(CallFault::TooLong),
        TaskEnd::Exited(0) => Ok(Incoming { status: 200, body: done.output }),
        TaskEnd::Exited(code) => Err(CallFault::Left(code)),
        TaskEnd::Killed(_) | TaskEnd::Unknown => Err(CallFault::Broken),
    }
}
