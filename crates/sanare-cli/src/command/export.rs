//! `sanare export`: what is kept of services as lines of JSON; records have `sanare ledger export`.

use std::io::{BufWriter, ErrorKind, Write};
use std::path::PathBuf;

use sanare::core::port::Sort;
use sanare::operations::ledger::Wanted;
use sanare::service::{Export, NotGiven};
use serde_json::json;

use crate::command::ledger::{new_file, time};
use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only of this service.
    #[arg(long)]
    application: Option<String>,
    /// Only from this time, or of the time since, such as 2026-11-30T12:00:00Z or 30d.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only before this time.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only this, such as `observation`; more than once for more: observation, minute, incident, snapshot, receipt, approval.
    #[arg(long, value_name = "KIND", value_parser = sort)]
    kind: Vec<Sort>,
    /// Into a new file; without it to standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn sort(text: &str) -> Result<Sort, String> {
    let found = Sort::ALL.into_iter().find(|sort| sort.word() == text);
    found.ok_or_else(|| "observation, minute, incident, snapshot, receipt and approval are kept".to_owned())
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let wanted = Wanted {
        since: arguments.since.as_deref().map(time).transpose()?,
        until: arguments.until.as_deref().map(time).transpose()?,
        application: arguments.application.clone(),
    };
    let healer = context.healer()?;
    let Some(path) = &arguments.out else {
        let export = healer.export(wanted, &arguments.kind).map_err(refused)?;
        return match lines(export, BufWriter::new(std::io::stdout().lock())) {
            // A reader that went away (`| head`) has what it wanted.
            Err(Stopped::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(Printed::default()),
            other => other.map(|_| Printed::default()).map_err(Exit::from),
        };
    };
    let file = new_file(path)?;
    let done = healer.export(wanted, &arguments.kind).map_err(refused);
    let done = done.and_then(|export| lines(export, BufWriter::new(file)).map_err(Exit::from));
    if done.is_err() {
        // Half an export is none.
        let _ = std::fs::remove_file(path);
    }
    let count = done?;
    let text = format!("{}: {count} lines", path.display());
    Ok(Printed::text(if context.json { pretty(&json!({ "file": path, "lines": count })) } else { text }))
}

/// What stopped it.
enum Stopped {
    Output(std::io::Error),
    Store(sanare::core::port::StoreFault),
}

impl From<Stopped> for Exit {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Output(error) => Self::store(format!("the output cannot be written: {error}")),
            Stopped::Store(fault) => Self::store(fault),
        }
    }
}

/// Writes them, each as it is read.
fn lines(export: Export, mut out: impl Write) -> Result<u64, Stopped> {
    let mut count = 0;
    for line in export {
        let line = line.map_err(Stopped::Store)?;
        writeln!(out, "{line}").map_err(Stopped::Output)?;
        count += 1;
    }
    out.flush().map_err(Stopped::Output)?;
    Ok(count)
}

fn refused(error: NotGiven) -> Exit {
    match error {
        NotGiven::Unknown { .. } => Exit::not_found(error).hint("`sanare services` lists what is configured"),
        NotGiven::Invalid(_) => Exit::usage(error),
        NotGiven::Store(_) => Exit::store(error),
    }
}
