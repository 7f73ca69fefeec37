//! `sanare show ID`.

use sanare::operations::show::show;

use crate::command::{Context, pretty, shown};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The incident's id, or at least six characters of its beginning.
    id: String,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let store = context.store()?;
    let report = show(store.as_ref(), &arguments.id).map_err(shown)?;
    Ok(Printed::text(if context.json { pretty(&report) } else { report.to_text() }))
}
