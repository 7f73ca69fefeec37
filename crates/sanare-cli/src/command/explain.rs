//! `sanare explain CASE|INCIDENT`: the whole reasoning, for a failing case folder or for an incident of the project.

use std::path::{Path, PathBuf};

use sanare::operations::explain::{Explanation, explain};

use crate::command::{Context, pretty, shown};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A folder with `loader.py`, `old.*` and `new.*`, or the id of an incident (or at least six characters of it).
    what: String,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let folder = Path::new(&arguments.what);
    let explanation = if folder.join("loader.py").is_file() {
        of_case(context, folder)?
    } else if folder.is_dir() {
        return Err(Exit::usage(format!("no `loader.py` in `{}`", folder.display())));
    } else {
        explain(context.store()?.as_ref(), &arguments.what).map_err(|error| shown(error, "sanare policy explain"))?
    };
    Ok(Printed::text(if context.json { pretty(&explanation) } else { explanation.to_text() }))
}

/// Heals the case in a folder of its own, which is thrown away, and explains what came of it.
fn of_case(context: &Context, case: &Path) -> Result<Explanation, Exit> {
    let work = Work::new()?;
    let (out, home) = (work.0.join("healed.py"), work.0.join("case"));
    let arguments = [case, Path::new("--out"), &out, Path::new("--work"), &home];
    let (code, said) = context.ask_python("sanare._case", &arguments)?;
    let path = sanare::wire::home::store_path(&home.join("project"));
    if !path.exists() {
        return Err(Exit::negative(format!("the case could not be run (exit {code}): {}", said.trim())));
    }
    let store = sanare::wire::home::open_existing(&path).map_err(Exit::store)?;
    let newest = store.incidents(1).map_err(Exit::store)?;
    let Some(incident) = newest.first() else {
        return Err(Exit::negative(format!("nothing was recorded: {}", said.trim())));
    };
    explain(store.as_ref(), incident.as_str()).map_err(|error| shown(error, "sanare policy explain"))
}

/// A folder that is gone afterwards.
struct Work(PathBuf);

impl Work {
    fn new() -> Result<Self, Exit> {
        let path = std::env::temp_dir().join(format!("sanare-explain-{}", std::process::id()));
        std::fs::create_dir(&path)
            .map_err(|error| Exit::usage(format!("cannot make the folder `{}`: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // What stays lies in the folder for temporary things.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
