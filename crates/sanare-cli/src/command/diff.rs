//! `sanare diff ID`: exit 1 when there was no candidate.

use sanare::operations::diff::diff;

use crate::command::{Context, pretty, shown};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The incident's id, or at least six characters of its beginning.
    id: String,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let store = context.store()?;
    let text = diff(store.as_ref(), &arguments.id).map_err(|error| shown(error, "sanare incident show"))?;
    if text.is_empty() {
        return Err(Exit::negative(format!("incident `{}` has no candidate", arguments.id))
            .hint("`sanare show` says why nothing was proposed"));
    }
    Ok(Printed::text(if context.json { pretty(&serde_json::json!({ "diff": text })) } else { text }))
}
