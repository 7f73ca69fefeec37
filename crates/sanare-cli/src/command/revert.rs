//! `sanare revert ID`.

use sanare::operations::revert::{Revert, revert};

use crate::command::{Context, pretty, shown};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The incident's id, or at least six characters of its beginning.
    id: String,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let store = context.store()?;
    let report = revert(store.as_ref(), &arguments.id).map_err(|error| match error {
        Revert::Show(error) => shown(error, "sanare incident undo"),
        Revert::Store(_) => Exit::store(error),
        Revert::NothingApplied(_) | Revert::Changed => Exit::negative(error),
        Revert::Target(_) => Exit { code: 3, message: error.to_string(), hint: String::new() },
    })?;
    let text = format!("{} taken back in {}", report.function, report.path);
    Ok(Printed::text(if context.json { pretty(&report) } else { text }))
}
