//! `sanare migrate`: settings and decorators of healing-agent, translated. Shows, and writes only when told to.

use std::path::PathBuf;

use sanare::operations::migrate::{Migrate, migrate, write};

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The former settings file, or the folder that it is in.
    path: PathBuf,
    /// Write `sanare.toml` and the patched files.
    #[arg(long)]
    write: bool,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let sources = match (&context.project, arguments.path.is_dir()) {
        (None, true) => arguments.path.clone(),
        _ => context.project_root()?,
    };
    let migration = migrate(&arguments.path, &sources).map_err(exit)?;
    if arguments.write {
        write(&migration).map_err(exit)?;
    }
    if context.json {
        return Ok(Printed::text(pretty(&migration)));
    }
    let mut text = format!("# sanare.toml in {}\n{}", migration.folder.display(), migration.toml);
    let mut section = |title: &str, lines: &[String]| {
        if !lines.is_empty() {
            text.push_str(&format!("\n# {title}:\n"));
            lines.iter().for_each(|line| text.push_str(&format!("#   {line}\n")));
        }
    };
    section("What means something else here", &migration.differences);
    section("Not understood, since nothing is executed", &migration.not_understood);
    for file in &migration.files {
        text.push('\n');
        text.push_str(&file.diff);
    }
    text.push_str(match arguments.write {
        true => "\n# Written.\n",
        false => "\n# Nothing was written; --write does.\n",
    });
    Ok(Printed::text(text))
}

fn exit(error: Migrate) -> Exit {
    match error {
        Migrate::Missing(_) => Exit::not_found(error).hint("name the former settings file, or its folder"),
        Migrate::Exists(_) | Migrate::Write(..) => Exit::negative(error),
        Migrate::Unreadable(..) | Migrate::Broken(..) => Exit::usage(error),
    }
}
