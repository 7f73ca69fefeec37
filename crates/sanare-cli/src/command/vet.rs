//! `sanare vet`: exit 0 when every static check passes, 1 when one does not.

use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;

use sanare::operations::vet;

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The module as it is.
    #[arg(long, value_name = "FILE", required_unless_present = "jsonl")]
    old: Option<PathBuf>,
    /// The module with the new function.
    #[arg(long, value_name = "FILE", required_unless_present = "jsonl")]
    new: Option<PathBuf>,
    /// Qualified name of the function.
    #[arg(long, value_name = "NAME", required_unless_present = "jsonl")]
    function: Option<String>,
    /// Read lines {"id", "source", "target", "code"} and answer {"id", "findings"}.
    #[arg(long)]
    jsonl: bool,
}

pub(crate) fn run(_context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    if arguments.jsonl {
        return lines();
    }
    let (Some(old), Some(new), Some(function)) = (&arguments.old, &arguments.new, &arguments.function) else {
        return Err(Exit::usage("--old, --new and --function belong together"));
    };
    let read = |path: &PathBuf| {
        std::fs::read_to_string(path).map_err(|error| Exit::usage(format!("cannot read `{}`: {error}", path.display())))
    };
    let report = vet::vet_files(&read(old)?, &read(new)?, function).map_err(Exit::usage)?;
    let code = i32::from(report.first_failure().is_some());
    Ok(Printed::with_code(pretty(&report), code))
}

fn lines() -> Result<Printed, Exit> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.map_err(|error| Exit::usage(format!("line {}: {error}", number + 1)))?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = vet::line(&line).map_err(|error| Exit::usage(format!("line {}: {error}", number + 1)))?;
        if writeln!(out, "{answer}").is_err() {
            break;
        }
    }
    let _ = out.flush();
    Ok(Printed::default())
}
