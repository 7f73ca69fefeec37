//! `sanare redact`: standard input to standard output.

use std::io::{BufRead as _, Read as _, Write as _};

use sanare::operations::redact;

use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Read lines {"id", "form", "payload"} and answer {"id", "payload"}; form is text or json.
    #[arg(long)]
    jsonl: bool,
    /// Take out personal data as well.
    #[arg(long)]
    pii: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Printed, Exit> {
    if arguments.jsonl {
        return lines(arguments.pii);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| Exit::usage(format!("cannot read: {error}")))?;
    Ok(Printed::text(redact::bytes(&bytes, arguments.pii)))
}

fn lines(personal: bool) -> Result<Printed, Exit> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.map_err(|error| Exit::usage(format!("line {}: {error}", number + 1)))?;
        if line.trim().is_empty() {
            continue;
        }
        let answer =
            redact::line(&line, personal).map_err(|error| Exit::usage(format!("line {}: {error}", number + 1)))?;
        if writeln!(out, "{answer}").is_err() {
            break;
        }
    }
    let _ = out.flush();
    Ok(Printed::default())
}
