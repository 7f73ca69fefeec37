//! `sanare stop` and `sanare start`: a file beside the store that is read before every act.

use crate::command::Context;
use crate::output::{Exit, Printed};

pub(crate) fn set(context: &Context) -> Result<Printed, Exit> {
    let root = context.project_root()?;
    sanare::operations::stop::stop(&root).map_err(Exit::store)?;
    Ok(Printed::text(format!("stopped: nothing is repaired in {} until `sanare start`", root.display())))
}

pub(crate) fn lift(context: &Context) -> Result<Printed, Exit> {
    let root = context.project_root()?;
    sanare::operations::stop::start(&root).map_err(Exit::store)?;
    Ok(Printed::text(format!("started: repairs are allowed in {}", root.display())))
}
