//! `sanare config show`: every key with its value and where it came from; exit 2 when something is wrong.

use sanare::core::settings::{KEYS, Origin};

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Print the effective settings and where each came from.
    Show,
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<Printed, Exit> {
    let Command::Show = command;
    let root = context.project_root()?;
    let settings = sanare::wire::settings::settings(&root, &[]).map_err(|troubles| {
        Exit::usage(troubles.iter().map(ToString::to_string).collect::<Vec<_>>().join("\nerror: "))
    })?;
    if context.json {
        return Ok(Printed::text(pretty(&settings)));
    }
    let lines: Vec<String> = KEYS
        .iter()
        .filter_map(|key| settings.rows().find(|(path, _, _)| *path == key.path))
        .map(|(path, value, origin)| format!("{path:<45} {:<24} {}", value.to_string(), whence(origin)))
        .collect();
    Ok(Printed::text(lines.join("\n")))
}

fn whence(origin: &Origin) -> String {
    match origin {
        Origin::Decorator => "decorator".to_owned(),
        Origin::Variable { name } => name.clone(),
        Origin::File { path, line } => format!("{path}:{line}"),
        Origin::Default => "default".to_owned(),
    }
}
