//! `sanare forget`: what was remembered of good calls, erased. Records of incidents stay.

use std::path::PathBuf;

use sanare::operations::forget::forget;

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// One function, as `path/to/file.py:Class.name`; all when left out.
    function: Option<String>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let root = context.project_root()?;
    if !sanare::wire::home::store_path(&root).exists() {
        return Ok(told(context, 0));
    }
    let store = context.store()?;
    let function = match &arguments.function {
        None => None,
        Some(given) => {
            let (file, name) = given.rsplit_once(':').ok_or_else(|| {
                Exit::usage(format!("`{given}` names no function")).hint("write path/to/file.py:function")
            })?;
            let path: PathBuf = root.join(file);
            Some((path, name.to_owned()))
        }
    };
    let function = function.as_ref().map(|(path, name)| (path.as_path(), name.as_str()));
    let count = forget(store.as_ref(), function).map_err(Exit::store)?;
    Ok(told(context, count))
}

fn told(context: &Context, count: u64) -> Printed {
    if context.json {
        return Printed::text(pretty(&serde_json::json!({ "forgotten": count })));
    }
    Printed::text(match count {
        0 => "forgot nothing".to_owned(),
        count => format!("forgot {count} remembered shapes and calls"),
    })
}
