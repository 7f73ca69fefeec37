//! `sanare heal-case DIR [--out FILE]`: exit 0 healed, 3 refused, anything else an error.

use std::path::{Path, PathBuf};

use crate::command::Context;
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Folder with `loader.py`, `old.*`, `new.*` and optionally `task.toml` (`function`, `input`).
    folder: PathBuf,
    /// Where the healed source goes; without it `loader.py` is changed in place.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    if !arguments.folder.join("loader.py").is_file() {
        return Err(Exit::usage(format!("no `loader.py` in `{}`", arguments.folder.display())));
    }
    let mut given: Vec<&Path> = vec![&arguments.folder];
    if let Some(out) = &arguments.out {
        given.extend([Path::new("--out"), out]);
    }
    let code = context.run_python("sanare._case", &given)?;
    Ok(Printed::with_code(String::new(), code))
}
