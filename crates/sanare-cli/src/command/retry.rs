//! `sanare retry ID`: the next failure of that kind is worked on again.

use sanare::operations::retry::retry;

use crate::command::{Context, pretty, shown};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The incident's id, or at least six characters of its beginning.
    id: String,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let store = context.store()?;
    let report = retry(store.as_ref(), &arguments.id).map_err(|error| shown(error, "sanare incident retry"))?;
    let text = format!("the next failure of this kind in {} is worked on again", report.function);
    Ok(Printed::text(if context.json { pretty(&report) } else { text }))
}
