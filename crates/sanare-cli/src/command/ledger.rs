//! `sanare ledger verify|head|export`: exit 1 when the chain does not hold.

use std::io::Write as _;
use std::path::PathBuf;

use sanare::core::ledger::{ChainBreak, Record};
use sanare::core::policy::file::milliseconds;
use sanare::core::service::Moment;
use sanare::operations::ledger::{Head, NotExported, Wanted, export, has, head};
use sanare::operations::verify_ledger::verify_ledger;
use serde_json::json;

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Check every hash of the chain.
    Verify {
        /// A head that was noted before, as `ledger head` prints it: the chain must still have it.
        #[arg(long, value_name = "SEQ:HASH")]
        head: Option<String>,
    },
    /// Print the last record's place and hash, to be kept elsewhere: a chain alone cannot show that its newest rows were cut.
    Head,
    /// Print records as they are, one line of JSON each.
    Export(Export),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// Only of this service or project.
    #[arg(long)]
    application: Option<String>,
    /// Only from this time, or of the time since, such as 2026-11-30T12:00:00Z or 30d.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only before this time.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Into a new file; without it to standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<Printed, Exit> {
    match command {
        Command::Verify { head } => verify(context, head.as_deref()),
        Command::Head => {
            let store = context.store()?;
            let head = match head(store.as_ref()).map_err(Exit::store)? {
                Ok(head) => head.ok_or_else(|| Exit::negative("nothing is recorded yet: there is no head"))?,
                Err(broken) => return Err(Exit::negative(breaks(&broken))),
            };
            Ok(Printed::text(if context.json { pretty(&head) } else { head.to_string() }))
        }
        Command::Export(arguments) => export_to(context, arguments),
    }
}

fn breaks(broken: &ChainBreak) -> String {
    format!("the chain breaks at record {}: {}", broken.seq, broken.what)
}

fn verify(context: &Context, noted: Option<&str>) -> Result<Printed, Exit> {
    let noted = noted.map(|text| {
        let none =
            || Exit::usage(format!("`{text}` is no head")).hint("write SEQ:HASH, as `sanare ledger head` prints it");
        Head::parse(text).ok_or_else(none)
    });
    let noted = noted.transpose()?;
    let store = context.store()?;
    let mut answer = verify_ledger(store.as_ref()).map_err(Exit::store)?;
    if let (Ok(_), Some(noted)) = (&answer, noted)
        && let Err(broken) = has(store.as_ref(), &noted).map_err(Exit::store)?
    {
        answer = Err(broken);
    }
    let (text, code) = match &answer {
        Ok(count) => (format!("the chain of {count} records holds"), 0),
        Err(broken) => (breaks(broken), 1),
    };
    if context.json {
        let value = match answer {
            Ok(count) => json!({ "holds": true, "records": count }),
            Err(broken) => json!({ "holds": false, "seq": broken.seq, "what": broken.what }),
        };
        return Ok(Printed::with_code(pretty(&value), code));
    }
    Ok(Printed::with_code(text, code))
}

fn export_to(context: &Context, arguments: &Export) -> Result<Printed, Exit> {
    let wanted = Wanted {
        since: arguments.since.as_deref().map(time).transpose()?,
        until: arguments.until.as_deref().map(time).transpose()?,
        application: arguments.application.clone(),
    };
    let store = context.store()?;
    let exit = |error: NotExported| match error {
        NotExported::Unknown { .. } => Exit::not_found(error),
        NotExported::Output(ref why) if why.kind() == std::io::ErrorKind::BrokenPipe => {
            Exit { code: 0, ..Exit::usage("") }
        }
        NotExported::Output(_) | NotExported::Store(_) => Exit::store(error),
    };
    let Some(path) = &arguments.out else {
        let mut out = std::io::stdout().lock();
        return match export(store.as_ref(), &wanted, |record| line(&mut out, record)).map_err(exit) {
            // A reader that went away (`| head`) has what it wanted.
            Err(left) if left.code == 0 => Ok(Printed::default()),
            other => other.map(|_| Printed::default()),
        };
    };
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Exit::negative(format!("`{}` is there already; nothing is written over", path.display()))
        }
        _ => Exit::usage(format!("`{}` cannot be written: {error}", path.display())),
    })?;
    let mut out = std::io::BufWriter::new(file);
    let done = export(store.as_ref(), &wanted, |record| line(&mut out, record));
    let done = done.and_then(|count| Ok(out.flush().map(|()| count)?)).map_err(exit);
    if done.is_err() {
        // Half an export is none.
        let _ = std::fs::remove_file(path);
    }
    let count = done?;
    let text = format!("{}: {count} records", path.display());
    Ok(Printed::text(if context.json { pretty(&json!({ "file": path, "records": count })) } else { text }))
}

fn line(out: &mut impl std::io::Write, record: &Record) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, record).map_err(std::io::Error::from)?;
    out.write_all(b"\n")
}

/// A time as it is written, or so long ago; in milliseconds since 1970.
pub(crate) fn time(text: &str) -> Result<u64, Exit> {
    if let Some(ago) = milliseconds(text) {
        let now = sanare::core::port::Clock::now(&sanare::wire::clock::SystemClock::new());
        return Ok(now.saturating_sub(ago));
    }
    let none = |_| Exit::usage(format!("`{text}` is no time")).hint("write such as 30d, 12h or 2026-11-30T12:00:00Z");
    Moment::parse(text).map(Moment::millis).map_err(none)
}
